"""Check records and lines of transcripts that were read from a file, by their types.

Called where these files are read: for resuming, for replays and for reports. Each function raises `DamagedError` with the first wrong
key and what it must be.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Annotated, Any

from pytest_recode.records.record import Record
from pytest_recode.records.setup_record import SNIPPET
from pytest_recode.records.transcript_lines import (
    AnyLine,
    EndLine,
    EpisodeLine,
    FeedbackLine,
    PlayedLine,
    ResumedLine,
    RetryLine,
    UsageLine,
)
from pytest_recode.schema.field_checks import shown, whole_number
from pytest_recode.schema.rules import Rule
from pytest_recode.schema.stored_forms import load, stored_form


def checked_record(stored: Any) -> Record:
    """A record (schema 1), whose fields do not contradict each other."""
    record: Record = _RECORD.checked(stored)
    return record


def checked_line(stored: Any, events: Container[str]) -> Any:
    """A line of a transcript. `events`: events whose fields the caller reads; for others, only event and time are checked."""
    event = load(AnyLine, stored)["event"]
    return load(_TYPES[event], stored) if event in events else stored


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


_CONSISTENT = Rule(check=_contradiction)
_RECORD = stored_form(Annotated[Record, _CONSISTENT])
_TYPES: Mapping[str, Any] = {
    "episode": EpisodeLine,
    "resumed": ResumedLine,
    "usage": UsageLine,
    "retry": RetryLine,
    "turn": PlayedLine,
    "feedback": FeedbackLine,
    "end": Annotated[EndLine, _CONSISTENT],
}
