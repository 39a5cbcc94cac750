"""Check a record (schema 1) that was read from a file: types, ranges, and that its fields do not contradict each other.

Called by `results.parse_record`, for resumed runs and reports. Fields that neither of them reads are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recode.records.field_checks import (
    CUTOFF,
    DATES,
    DOLLARS,
    FLAG,
    NAME,
    SEED,
    TEXT,
    TIME,
    Check,
    list_of,
    list_of_texts,
    object_of,
    one_of,
    or_null,
    remembered,
    shown,
    values_of,
    whole_number,
)

LEVELS = ("L0", "L1", "L2", "L3", "L4")
OUTCOMES = ("passed", "failed", "error")


def fault(record: Mapping[str, Any]) -> str:
    """Describe the first invalid key of a record and its valid values; "" if all are valid."""
    return (_RECORD(record) or _contradiction(record)).lstrip(".: ")


def _contradiction(record: Mapping[str, Any]) -> str:
    """Two fields that cannot both be true; "" if there are none."""
    outcome, solved_turn, turns = record["outcome"], record["solved_turn"], record["turns"]
    facts = record.get("facts") or {}
    if {"paper", "snippet", "lines"} <= facts.keys() and (wrong := whole_number(1)(facts["lines"])):
        return f"facts.lines{wrong}"
    if (outcome == "solved") != (solved_turn is not None):
        return f"solved_turn is {shown(solved_turn)} and outcome {shown(outcome)}: one of the two is wrong"
    for place, turn in enumerate(turns):
        if turn["passed"] > turn["total"]:
            return f"turns[{place}].passed is {turn['passed']} of {turn['total']}"
    if outcome != "solved":
        return ""
    last = next((turn for turn in turns if turn["turn"] == solved_turn), None)
    if last is None:
        return f"solved_turn is {solved_turn}, and turns has no such turn"
    if last["passed"] < last["total"] or last.get("tampering"):
        return f"solved_turn is {solved_turn}, and that turn did not solve it"
    return ""


USAGE = object_of(prompt_tokens=whole_number(0), completion_tokens=whole_number(0), cost_usd=or_null(DOLLARS))
TURN = object_of(
    turn=whole_number(1),
    level=or_null(one_of(*LEVELS)),
    passed=whole_number(0),
    total=whole_number(1),
    cases=list_of_texts(
        outcome=one_of(*OUTCOMES),
        kind_=or_null(TEXT),
        exception_=or_null(TEXT),
        junit_=TEXT,
    ),
    tampering_=list_of(TEXT),
    verifiable_=FLAG,
    versions_=values_of(TEXT),
    seed_=SEED,
    shared_=or_null(TEXT),
    usage=USAGE,
    feedback_=or_null(object_of(source_=TEXT, items_=list_of(object_of(category=or_null(TEXT))))),
)
_SINGLE_VALUES = values_of(lambda value: "" if not isinstance(value, dict | list) else " is not a single value")
_SETTINGS = object_of(
    version_=TEXT,
    turns_=whole_number(1),
    steps_=whole_number(1),
    memory_threshold_=or_null(whole_number(0)),
    memory_keep_=or_null(whole_number(0)),
    search_model_=or_null(TEXT),
    test_output_=TEXT,
    temperature_=or_null(DOLLARS),
    reindent_=FLAG,
    test_seconds_=or_null(DOLLARS),
)


@remembered
def _settings(value: Any) -> str:
    """Check settings; the types only of those that are read and not just compared."""
    return _SINGLE_VALUES(value) or _SETTINGS(value)


FACTS: Mapping[str, Check] = {
    "nodeid": NAME,
    "task": NAME,
    "format": NAME,
    "facts_": or_null(object_of(**DATES)),
    "agent": NAME,
    "model": or_null(NAME),
    "simulated": FLAG,
    "feedback": NAME,
    "feedback_model": or_null(TEXT),
    "attempt": whole_number(1),
    "shard_": or_null(TEXT),
    "paper": FLAG,
    "paper_date_": or_null(TEXT),
    "cutoff_": or_null(CUTOFF),
    "settings": _settings,
    "isolation": TEXT,
    "sandbox_": TEXT,
    "sandbox_host_": or_null(TEXT),
    "memory_limit_": TEXT,
    "transcript": or_null(TEXT),
    "digest_": or_null(TEXT),
    "replay_": or_null(object_of(run=TEXT, nodeid=TEXT, turn=whole_number(2), level=one_of(*LEVELS))),
}
"""Checks of the values that are known when an episode starts, for a record and for the first line of a transcript."""
_RECORD = object_of(
    **FACTS,
    outcome=one_of("solved", "unsolved", "error"),
    solved_turn=or_null(whole_number(1)),
    turns=list_of(TURN),
    usage=USAGE,
    ended_=TIME,
)
