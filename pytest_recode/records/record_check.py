"""Check a record (schema 1) that was read from a file: its type, and that its fields do not contradict each other.

Called by `results.parse_record`, for resumed runs and reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recode.records.record import Record
from pytest_recode.records.setup_record import SNIPPET
from pytest_recode.schema.field_checks import shown, whole_number
from pytest_recode.schema.stored_forms import check_of


def fault(record: Mapping[str, Any]) -> str:
    """Describe the first invalid key of a record and its valid values; "" if all are valid."""
    return (check_of(Record)(record) or _contradiction(record)).lstrip(".: ")


def _contradiction(record: Mapping[str, Any]) -> str:
    """Two fields that cannot both be true; "" if there are none."""
    outcome, solved_turn, turns = record["outcome"], record["solved_turn"], record["turns"]
    facts = record.get("facts") or {}
    if facts.keys() >= set(SNIPPET) and (wrong := whole_number(1)(facts["lines"])):
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
