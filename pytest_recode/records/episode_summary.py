"""EpisodeSummary: the part of a record that a session holds in memory until its end, for the summary of the run.

pytest keeps every report until then. The controller replaces the record on a report by this once the record is in
results.jsonl. `metrics/score.py` computes the numbers of the summary from it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypedDict, cast

from pytest_recode.records.episode_error import ErrorRecord
from pytest_recode.records.feedback_received import feedback_received
from pytest_recode.records.record import (
    AbandonedRecord,
    Record,
    ReplayRecord,
    UsageRecord,
    answers,
    findings,
)
from pytest_recode.records.setup_record import SNIPPET


class TurnCounts(TypedDict):
    """Hidden cases of a turn's verdict, and the level of the feedback before it."""

    level: str | None
    passed: int
    total: int


class CopiedFields(TypedDict):
    """Fields that are those of the record."""

    nodeid: str
    task: str
    digest: str | None
    format: str
    agent: str
    model: str | None
    simulated: bool
    feedback: str
    paper: bool
    outcome: str
    solved_turn: int | None
    usage: UsageRecord
    sandbox: str
    isolation: str
    error: ErrorRecord | None
    replay: ReplayRecord | None
    seconds: float


class EpisodeSummary(CopiedFields):
    sandbox_host: str | None
    memory_limit: str
    turns: tuple[TurnCounts, ...]
    highest_level: str | None  # of the feedback before its turns; None: there was none
    feedback_characters: int | None  # of that feedback; None: a record of an earlier version does not have them
    temperature: float | None
    test_output_shown: bool  # with feedback: --recode-test-output=full
    impossible: bool  # whether the task's impossible twin was played
    snippet: Mapping[str, Any] | None  # of the task's facts, those of `SNIPPET`; None: it is none
    answers: int  # of the model, in turns that this episode paid for, including turns without a verdict
    unparsed: int  # of these, answers that could not be used
    asked_again: int  # of these, answers that were no step
    tampering: bool  # in any turn
    unverifiable: bool  # solved, and no test compares values, so that a pass proves less
    flagged: tuple[str, ...]  # findings of a turn in which every case passed, which alone make the episode unsolved
    shared: bool  # whether another episode paid for a turn
    waited: float


def episode_summary(record: Record) -> EpisodeSummary:
    facts = record["facts"]
    counts = answers(record) or AbandonedRecord(steps=0, unparsed=0)
    asked_again = counts.get("asked_again", 0)
    received = feedback_received(record)
    return {
        **cast("CopiedFields", {key: record[key] for key in CopiedFields.__annotations__}),  # type: ignore[literal-required]
        "sandbox_host": record.get("sandbox_host"),
        "memory_limit": record.get("memory_limit", ""),
        "turns": tuple(_counts(turn["level"], turn["passed"], turn["total"]) for turn in record["turns"]),
        "highest_level": received.level,
        "feedback_characters": received.characters,
        "temperature": record["settings"]["temperature"],
        "test_output_shown": record["settings"]["test_output"] == "full"
        and any(turn["feedback"] for turn in record["turns"]),
        "impossible": record["settings"].get("impossible", False),
        "snippet": {key: facts[key] for key in SNIPPET} if facts.keys() >= set(SNIPPET) else None,
        "answers": counts["steps"] + asked_again,
        "unparsed": counts["unparsed"],
        "asked_again": asked_again,
        "tampering": any(turn["tampering"] for turn in record["turns"]),
        "unverifiable": record["outcome"] == "solved" and not record["turns"][-1].get("verifiable", True),
        "flagged": findings(record["outcome"], record["turns"]),
        "shared": any(turn["shared"] for turn in record["turns"]),
        "waited": record.get("waited", 0.0),
    }


@functools.cache
def _counts(level: str | None, passed: int, total: int) -> TurnCounts:
    """One object for all turns with these numbers, of which a session may have many."""
    return {"level": level, "passed": passed, "total": total}
