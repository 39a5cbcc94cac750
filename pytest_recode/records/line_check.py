"""Check lines of results.jsonl and of transcripts that were read from a file, by their types.

Called where these files are read: for resuming, for replays and for reports. Each function returns the first wrong key and what it
must be; "" if nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from pytest_recode.records.record import Record
from pytest_recode.records.setup_record import SNIPPET
from pytest_recode.records.transcript_lines import (
    AnyLine,
    EpisodeLine,
    FeedbackLine,
    PlayedLine,
    ResumedLine,
    RetryLine,
    UsageLine,
)
from pytest_recode.schema.field_checks import shown, whole_number
from pytest_recode.schema.stored_forms import check_of
from pytest_recode.verdict import Verdict

_TYPES: Mapping[str, Any] = {
    "episode": EpisodeLine,
    "resumed": ResumedLine,
    "usage": UsageLine,
    "retry": RetryLine,
    "turn": PlayedLine,
    "feedback": FeedbackLine,
}


def record_fault(record: Mapping[str, Any]) -> str:
    """Check a record (schema 1): its type, and that its fields do not contradict each other."""
    return (check_of(Record)(record) or _contradiction(record)).lstrip(".: ")


def transcript_fault(line: Any, events: Container[str]) -> str:
    """Check a line of a transcript. `events`: events whose fields the caller reads; for others, only event and time are checked."""
    wrong = check_of(AnyLine)(line)
    if not wrong and line["event"] in events:
        wrong = record_fault(line) if line["event"] == "end" else check_of(_TYPES[line["event"]])(line)
    return wrong.lstrip(".: ")


def verdict_fault(line: Mapping[str, Any]) -> str:
    """Check the verdict of a valid line of a turn, with the messages of its cases. Reports do not read it."""
    return check_of(Verdict)(line.get("verdict")).lstrip(".: ")


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
