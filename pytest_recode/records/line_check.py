"""Check lines of transcripts and checkpoints that were read from a file, by their types, as `record_check.py` checks records.

Called where these files are read: for resuming, for replays and for reports. Each function returns the first wrong key and what it
must be; "" if nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from pytest_recode.records import record_check
from pytest_recode.records.transcript_lines import (
    AnyLine,
    EpisodeLine,
    FeedbackLine,
    PlayedLine,
    ResumedLine,
    RetryLine,
    UsageLine,
)
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


def transcript_fault(line: Any, events: Container[str]) -> str:
    """Check a line of a transcript. `events`: events whose fields the caller reads; for others, only event and time are checked."""
    wrong = check_of(AnyLine)(line)
    if not wrong and line["event"] in events:
        wrong = record_check.fault(line) if line["event"] == "end" else check_of(_TYPES[line["event"]])(line)
    return wrong.lstrip(".: ")


def verdict_fault(line: Mapping[str, Any]) -> str:
    """Check the verdict of a valid line of a turn, with the messages of its cases. Reports do not read it."""
    return check_of(Verdict)(line.get("verdict")).lstrip(".: ")
