"""Complete verdicts, feedback and moves in plain JSON types, as transcripts and checkpoints store them; records have parts of them.

Written by the process that plays an episode. `line_check.py` checks what is read from a file; the functions named `load_…` expect
a checked value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, NotRequired, TypedDict

from pytest_recode.episode import Feedback, Move
from pytest_recode.records.plain import dump, load
from pytest_recode.records.record import AuditRecord, FeedbackItemRecord, UsageRecord
from pytest_recode.records.typed_schema import Count, Level, Number, Seed, one_of
from pytest_recode.usage import Usage
from pytest_recode.verdict import Verdict


class StoredException(TypedDict):
    type: str
    message: str
    frames: list[str]


class StoredCase(TypedDict):
    id: str
    interface: str
    outcome: Annotated[str, one_of("passed", "failed", "error")]
    kind: str
    message: str
    exception: StoredException | None
    seconds: float
    junit: NotRequired[str]
    uses: NotRequired[list[str] | None]


class StoredVerdict(TypedDict):
    seed: Seed
    isolation: str
    tampering: list[str]
    seconds: float
    verifiable: NotRequired[bool]
    versions: NotRequired[dict[str, str]]
    cases: list[StoredCase]


class StoredFeedbackItem(FeedbackItemRecord):
    description: str
    analysis: str
    suggestion: str
    correction: str
    elsewhere: NotRequired[dict[str, str]]


class StoredFeedback(TypedDict):
    turn: Number
    level: Level
    source: str
    model: str
    prompt: str
    audit: AuditRecord
    text: str
    items: list[StoredFeedbackItem]
    usage: UsageRecord


class StoredMove(TypedDict):
    steps: Count
    unparsed: NotRequired[Count]
    asked_again: NotRequired[Count]
    submitted: bool
    reindented: NotRequired[bool]
    gave_up: NotRequired[bool]
    usage: UsageRecord


def dump_verdict(verdict: Verdict) -> StoredVerdict:
    cases = tuple(replace(case, seconds=round(case.seconds, 3)) for case in verdict.cases)
    return dump(replace(verdict, cases=cases, seconds=round(verdict.seconds, 3)), StoredVerdict)


def load_verdict(stored: StoredVerdict) -> Verdict:
    return load(Verdict, stored)


def dump_feedback(feedback: Feedback) -> StoredFeedback:
    return {**dump(feedback, StoredFeedback), "level": f"L{feedback.level}"}


def load_feedback(stored: StoredFeedback) -> Feedback:
    return load(Feedback, {**stored, "level": int(stored["level"][1:])})


def dump_move(move: Move) -> StoredMove:
    return dump(move, StoredMove)


def load_move(stored: StoredMove) -> Move:
    return load(Move, stored)


def load_usage(stored: UsageRecord) -> Usage:
    return load(Usage, stored)
