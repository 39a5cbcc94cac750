"""Complete verdicts, feedback and moves in plain JSON types, as transcripts and checkpoints store them; records have parts of them.

Written by the process that plays an episode. `line_check.py` checks what is read from a file; the functions named `load_…` expect
a checked value.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from pytest_recode.episode import Audit, Feedback, FeedbackItem, Move
from pytest_recode.records.derived import Count, Level, Number, Seed, one_of
from pytest_recode.records.record import AuditRecord, FeedbackItemRecord, UsageRecord, audit, feedback_item, usage
from pytest_recode.usage import Usage
from pytest_recode.verdict import Case, Exc, Outcome, Verdict


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
    return {
        "seed": verdict.seed,
        "isolation": verdict.isolation,
        "tampering": list(verdict.tampering),
        "seconds": round(verdict.seconds, 3),
        "verifiable": verdict.verifiable,
        "versions": dict(verdict.versions),
        "cases": [_dump_case(case) for case in verdict.cases],
    }


def load_verdict(stored: StoredVerdict) -> Verdict:
    return Verdict(
        cases=tuple(map(_load_case, stored["cases"])),
        seed=stored["seed"],
        seconds=stored["seconds"],
        isolation=stored["isolation"],
        tampering=tuple(stored["tampering"]),
        verifiable=stored.get("verifiable", True),
        versions=stored.get("versions", {}),
    )


def _dump_case(case: Case) -> StoredCase:
    exception = case.exception
    return {
        "id": case.id,
        "interface": case.interface,
        "outcome": case.outcome.value,
        "kind": case.kind,
        "message": case.message,
        "exception": None
        if exception is None
        else {"type": exception.type, "message": exception.message, "frames": list(exception.frames)},
        "seconds": round(case.seconds, 3),
        "junit": case.junit,
        "uses": None if case.uses is None else list(case.uses),
    }


def _load_case(stored: StoredCase) -> Case:
    exception, uses = stored["exception"], stored.get("uses")
    return Case(
        id=stored["id"],
        interface=stored["interface"],
        outcome=Outcome(stored["outcome"]),
        kind=stored["kind"],
        message=stored["message"],
        exception=None
        if exception is None
        else Exc(type=exception["type"], message=exception["message"], frames=tuple(exception["frames"])),
        seconds=stored["seconds"],
        junit=stored.get("junit", ""),
        uses=None if uses is None else tuple(uses),
    )


def dump_feedback(feedback: Feedback) -> StoredFeedback:
    return {
        "turn": feedback.turn,
        "level": f"L{feedback.level}",
        "source": feedback.source,
        "model": feedback.model,
        "prompt": feedback.prompt,
        "audit": audit(feedback.audit),
        "text": feedback.text,
        "items": [_dump_item(item) for item in feedback.items],
        "usage": usage(feedback.usage),
    }


def load_feedback(stored: StoredFeedback) -> Feedback:
    return Feedback(
        level=int(stored["level"][1:]),
        text=stored["text"],
        turn=stored["turn"],
        items=tuple(map(_load_item, stored["items"])),
        source=stored["source"],
        model=stored["model"],
        prompt=stored["prompt"],
        audit=_load_audit(stored["audit"]),
        usage=load_usage(stored["usage"]),
    )


def _dump_item(item: FeedbackItem) -> StoredFeedbackItem:
    """`item` with its texts between `category` and `caused_by`, in the order in which levels show them."""
    facts = feedback_item(item)
    return {
        "interface": facts["interface"],
        "category": facts["category"],
        "description": item.description,
        "analysis": item.analysis,
        "suggestion": item.suggestion,
        "correction": item.correction,
        "elsewhere": dict(item.elsewhere),
        **facts,
    }


def _load_item(stored: StoredFeedbackItem) -> FeedbackItem:
    return FeedbackItem(
        interface=stored["interface"],
        category=stored["category"],
        description=stored["description"],
        analysis=stored["analysis"],
        suggestion=stored["suggestion"],
        correction=stored["correction"],
        elsewhere=stored.get("elsewhere", {}),
        caused_by=stored.get("caused_by") or "",
        possible_causes=tuple(stored.get("possible_causes", ())),
        authors=stored.get("authors", {}),
    )


def _load_audit(stored: AuditRecord) -> Audit:
    return Audit(
        reference_run=stored["reference_run"],
        reference_share=stored["reference_share"],
        tests_run=stored["tests_run"],
        tests_share=stored["tests_share"],
        cut=stored["cut"],
        encoded=stored.get("encoded", 0),
    )


def dump_move(move: Move) -> StoredMove:
    return {
        "steps": move.steps,
        "unparsed": move.unparsed,
        "asked_again": move.asked_again,
        "submitted": move.submitted,
        "reindented": move.reindented,
        "gave_up": move.gave_up,
        "usage": usage(move.usage),
    }


def load_move(stored: StoredMove) -> Move:
    return Move(
        steps=stored["steps"],
        unparsed=stored.get("unparsed", 0),
        asked_again=stored.get("asked_again", 0),
        submitted=stored["submitted"],
        reindented=stored.get("reindented", False),
        gave_up=stored.get("gave_up", False),
        usage=load_usage(stored["usage"]),
    )


def load_usage(stored: UsageRecord) -> Usage:
    return Usage(
        prompt_tokens=stored["prompt_tokens"],
        completion_tokens=stored["completion_tokens"],
        cost_usd=stored["cost_usd"],
    )
