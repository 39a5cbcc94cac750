"""The record of an episode: one line of results.jsonl (schema 1), as types and as functions that make its parts.

The types correspond to `records.schema.json`, with the same keys; a test compares the two. Keys that records of earlier versions lack
are `NotRequired`. `results.py` checks records that it reads from a file. Transcripts and checkpoints store more of each turn
(`stored_values.py`). Values are plain JSON types, because pytest-xdist sends records from workers to the controller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from pytest_recode.episode import Audit, Feedback, FeedbackItem, Turn
from pytest_recode.usage import Usage

SCHEMA = 1


class UsageRecord(TypedDict):
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


class AuditRecord(TypedDict):
    reference_run: int
    reference_share: float
    tests_run: int
    tests_share: float
    cut: int
    encoded: NotRequired[int]


class FeedbackItemRecord(TypedDict):
    interface: str
    category: str
    caused_by: NotRequired[str | None]
    possible_causes: NotRequired[list[str]]
    authors: NotRequired[dict[str, str]]


class FeedbackRecord(TypedDict):
    """The feedback before a turn, without its text."""

    source: str
    model: str | None
    prompt: str | None
    audit: AuditRecord
    items: list[FeedbackItemRecord]


class CaseRecord(TypedDict):
    id: str
    interface: str
    outcome: str
    kind: str
    exception: str | None
    junit: NotRequired[str]


class TurnRecord(TypedDict):
    turn: int
    level: str | None
    feedback: FeedbackRecord | None
    passed: int
    failed: int
    total: int
    cases: list[CaseRecord]
    tampering: list[str]
    verifiable: NotRequired[bool]
    versions: NotRequired[dict[str, str]]
    seed: int
    steps: NotRequired[int]
    unparsed: NotRequired[int]
    asked_again: NotRequired[int]
    reindented: bool
    shared: str | None
    usage: UsageRecord
    seconds: float


class AbandonedRecord(TypedDict):
    steps: int
    unparsed: int
    asked_again: NotRequired[int]


class ErrorRecord(TypedDict):
    kind: str
    message: str
    cause: NotRequired[str]


class ReplayRecord(TypedDict):
    run: str
    nodeid: str
    turn: int
    level: str


class SettingsRecord(TypedDict):
    version: str
    turns: int
    steps: int
    memory_threshold: int | None
    memory_keep: int | None
    search_model: str | None
    test_output: str
    temperature: float | None
    call_seconds: NotRequired[float]
    test_seconds: float | None
    reindent: bool
    api_base: str | None
    image: str
    feedback_from: str
    feedback_scope: str
    feedback_code: str
    feedback_writer: NotRequired[str]
    researcher_prompt: str


class EpisodeFacts(TypedDict):
    """Values that are known when an episode starts: the first line of its transcript."""

    schema: int
    nodeid: str
    task: str
    format: str
    facts: dict[str, Any]
    agent: str
    model: str | None
    simulated: bool
    feedback: str
    feedback_model: str | None
    attempt: int
    shard: NotRequired[str | None]
    paper: bool
    paper_date: str
    cutoff: str
    settings: SettingsRecord
    sandbox: str
    sandbox_host: NotRequired[str | None]
    memory_limit: NotRequired[str]
    isolation: str
    transcript: str
    digest: str | None
    replay: ReplayRecord | None


class Record(EpisodeFacts):
    """A line of results.jsonl."""

    outcome: str
    stop: str
    solved_turn: int | None
    passed_but_flagged: NotRequired[bool]
    turns: list[TurnRecord]
    abandoned: NotRequired[AbandonedRecord]
    usage: UsageRecord
    seconds: float
    waited: NotRequired[float]
    ended: NotRequired[str]
    error: ErrorRecord | None


def cause(error: ErrorRecord) -> str:
    """The message without details that differ between episodes with the same cause."""
    return error.get("cause", error["message"])


def usage(spent: Usage) -> UsageRecord:
    return {
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost_usd": spent.cost_usd,
    }


def total(turns: Sequence[Turn]) -> Usage:
    return sum((turn.usage for turn in turns), Usage())


def turn(played: Turn) -> TurnRecord:
    record: TurnRecord = {
        "turn": played.number,
        "level": None if played.feedback is None else f"L{played.feedback.level}",
        "feedback": None if played.feedback is None else _origin(played.feedback),
        "passed": played.verdict.passed,
        "failed": played.verdict.failed,
        "total": len(played.verdict.cases),
        "cases": [
            {
                "id": case.id,
                "interface": case.interface,
                "outcome": case.outcome.value,
                "kind": case.kind,
                "exception": case.exception.type if case.exception else None,
                "junit": case.junit,
            }
            for case in played.verdict.cases
        ],
        "tampering": list(played.verdict.tampering),
        "versions": dict(played.verdict.versions),
        "seed": played.verdict.seed,
        "steps": played.move.steps,
        "unparsed": played.move.unparsed,
        "asked_again": played.move.asked_again,
        "reindented": played.move.reindented,
        "shared": played.shared or None,
        "usage": usage(played.usage),
        "seconds": round(played.seconds, 3),
    }
    if not played.verdict.verifiable:
        record["verifiable"] = False
    return record


def findings(outcome: str, turns: Sequence[TurnRecord]) -> tuple[str, ...]:
    """The findings that alone make an episode unsolved: those of its first turn in which every case passed.

    Empty if the outcome is not "unsolved", or is due to failed cases. `turns` may be of a record of any version.
    """
    if outcome != "unsolved":
        return ()
    passing = (turn for turn in turns if 0 < turn["total"] == turn["passed"])
    return next((tuple(turn["tampering"]) for turn in passing if turn.get("tampering")), ())


def passed_but_flagged(outcome: str, turns: Sequence[TurnRecord]) -> bool:
    """Whether only findings of the judge make an episode unsolved: in one of its turns, every case passed."""
    return bool(findings(outcome, turns))


def _origin(given: Feedback) -> FeedbackRecord:
    """The feedback before a turn, without its text."""
    return {
        "source": given.source,
        "model": given.model or None,
        "prompt": given.prompt or None,
        "audit": audit(given.audit),
        "items": [feedback_item(item) for item in given.items],
    }


def feedback_item(item: FeedbackItem) -> FeedbackItemRecord:
    """An item without its texts."""
    return {
        "interface": item.interface,
        "category": item.category,
        "caused_by": item.caused_by or None,
        "possible_causes": list(item.possible_causes),
        "authors": dict(item.authors),
    }


def audit(found: Audit) -> AuditRecord:
    return {
        "reference_run": found.reference_run,
        "reference_share": found.reference_share,
        "tests_run": found.tests_run,
        "tests_share": found.tests_share,
        "cut": found.cut,
        "encoded": found.encoded,
    }
