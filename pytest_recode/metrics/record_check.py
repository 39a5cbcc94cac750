"""What a report needs of a record (schema 1) and of published results, checked before anything is counted.

Only what numbers are made of is checked, so that fields that a later version adds do no harm.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

LEVELS = ("L0", "L1", "L2", "L3", "L4")
_LARGEST = 2**53
_DATE = re.compile(r"\d{4}(-\d{1,2}(-\d{1,2})?)?")

Check = Callable[[Any], str]
"""What is wrong with a value: "" where nothing is; else ` is 0: must be …`, with the keys that lead to it in front."""


def fault(record: Mapping[str, Any]) -> str:
    """Of a record: "" where nothing is wrong, else the key and what it must be."""
    return (_RECORD(record) or _contradiction(record)).lstrip(".: ")


def published_fault(stats: Mapping[str, Any]) -> str:
    """Of ResearchCodeBench's overall_stats.json."""
    found = _STATS(stats)
    if not found:
        named = stats["overall_scores"]
        for paper, results in stats["results"].items():
            if unknown := [key for key in results["results"] if key not in named]:
                return f"results.{paper}.results.{unknown[0]}: overall_scores has no such model"
    return found.lstrip(".: ")


def date(value: str) -> bool:
    """Whether it is "2024", "2024-7" or "2024-07-17", with months and days that there are."""
    parts = [int(part) for part in value.split("-")] if _DATE.fullmatch(value) else [0]
    return all(low <= part <= high for part, (low, high) in zip(parts, ((1, 9999), (1, 12), (1, 31)), strict=False))


def _contradiction(record: Mapping[str, Any]) -> str:
    """What of its own fields cannot be true at once."""
    outcome, solved_turn, turns = record["outcome"], record["solved_turn"], record["turns"]
    facts = record.get("facts") or {}
    if {"paper", "snippet", "lines"} <= facts.keys() and (wrong := _whole(1)(facts["lines"])):
        return f"facts.lines{wrong}"
    if (outcome == "solved") != (solved_turn is not None):
        return f"solved_turn is {_shown(solved_turn)} and outcome {_shown(outcome)}: one of the two is wrong"
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


def _is(wanted: str, holds: Callable[[Any], bool]) -> Check:
    return lambda value: "" if holds(value) else f" is {_shown(value)}: must be {wanted}"


def _whole(low: int) -> Check:
    def holds(value: Any) -> bool:
        return type(value) is int and low <= value <= _LARGEST

    return _is(f"a whole number from {low}", holds)


def _or_null(check: Check) -> Check:
    def found(value: Any) -> str:
        wrong = "" if value is None else check(value)
        return f"{wrong} or null" if wrong else ""

    return found


def _one_of(*choices: str) -> Check:
    return _is(" or ".join(choices), lambda value: isinstance(value, str) and value in choices)


def _object(**checks: Check) -> Check:
    """Keys that end in `_` may be left out."""

    def found(value: Any) -> str:
        if not isinstance(value, dict):
            return f" is {_shown(value)}: must be an object"
        for name, check in checks.items():
            key = name.removesuffix("_")
            if key in value:
                if wrong := check(value[key]):
                    return f".{key}{wrong}"
            elif key == name:
                return f": lacks {key!r}"
        return ""

    return found


def _list(check: Check) -> Check:
    def found(value: Any) -> str:
        if not isinstance(value, list):
            return f" is {_shown(value)}: must be a list"
        return next((f"[{place}]{wrong}" for place, each in enumerate(value) if (wrong := check(each))), "")

    return found


def _values(check: Check) -> Check:
    """An object with any keys."""

    def found(value: Any) -> str:
        if not isinstance(value, dict):
            return f" is {_shown(value)}: must be an object"
        return next((f".{key}{wrong}" for key, each in value.items() if (wrong := check(each))), "")

    return found


def _shown(value: Any) -> str:
    words = repr(value) if isinstance(value, str) else str(value).lower() if value in (True, False) else str(value)
    words = "null" if value is None else words
    return words if len(words) <= 40 else f"{words[:40]}…"


_text = _is("a text", lambda value: isinstance(value, str))
_named = _is("a text that is not empty", lambda value: isinstance(value, str) and bool(value.strip()))
_flag = _is("true or false", lambda value: isinstance(value, bool))
_dollars = _is(
    "a number from 0",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf,
)
_cutoff = _is(
    "a date such as 2024-10 or 2024-10-17, or empty",
    lambda value: isinstance(value, str) and (not value.strip() or date(value.strip())),
)
_day = _is(
    "a date such as 2024-10-17",
    lambda value: value in (None, "", "null") or (isinstance(value, str) and value.count("-") == 2 and date(value)),
)
_dates = {f"{name}_": _day for name in ("arxiv_v1_date", "arxiv_date", "first_commit_date", "last_commit_date")}

_USAGE = _object(prompt_tokens=_whole(0), completion_tokens=_whole(0), cost_usd=_or_null(_dollars))
_TURN = _object(
    turn=_whole(1),
    level=_or_null(_one_of(*LEVELS)),
    passed=_whole(0),
    total=_whole(1),
    cases=_list(
        _object(
            outcome=_one_of("passed", "failed", "error"),
            kind_=_or_null(_text),
            exception_=_or_null(_text),
            junit_=_text,
        )
    ),
    tampering_=_list(_text),
    seed_=_whole(0),
    shared_=_or_null(_text),
    usage=_USAGE,
    feedback_=_or_null(_object(source_=_text, items_=_list(_object(category=_or_null(_text))))),
)
_RECORD = _object(
    nodeid=_named,
    task=_named,
    format=_named,
    facts_=_or_null(_object(**_dates)),
    agent=_named,
    model=_or_null(_named),
    simulated=_flag,
    feedback=_named,
    feedback_model=_or_null(_text),
    attempt=_whole(1),
    paper=_flag,
    paper_date_=_or_null(_text),
    cutoff_=_or_null(_cutoff),
    settings=_values(lambda value: "" if not isinstance(value, dict | list) else " is no single value"),
    outcome=_one_of("solved", "unsolved", "error"),
    solved_turn=_or_null(_whole(1)),
    turns=_list(_TURN),
    usage=_USAGE,
    isolation=_text,
    sandbox_=_text,
    transcript=_or_null(_text),
    digest_=_or_null(_text),
    replay_=_or_null(_object(run=_text, nodeid=_text, turn=_whole(2), level=_one_of(*LEVELS))),
)
_STATS = _object(
    results=_values(
        _object(
            paper_metadata=_object(**_dates),
            results=_values(_object(results=_values(_list(_object(snippet_code_line_count=_whole(1), passed=_flag))))),
        )
    ),
    overall_scores=_values(_object(llm_cfg=_object(pretty_name=_named, knowledge_cutoff_date_=_or_null(_cutoff)))),
)
