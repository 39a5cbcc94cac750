"""EpisodeSummary: the part of a record that a session holds in memory until its end, for the summary of the run.

pytest keeps every report until then. The controller replaces the record on a report by this once the record is in
results.jsonl. `metrics/score.py` computes the numbers of the summary from it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypedDict

from pytest_recode.records.episode_error import ErrorRecord
from pytest_recode.records.record import AbandonedRecord, Record, ReplayRecord, UsageRecord, answers, findings
from pytest_recode.records.setup_record import SNIPPET


class TurnCounts(TypedDict):
    """Hidden cases of a turn's verdict."""

    passed: int
    total: int


class EpisodeSummary(TypedDict):
    """Fields of the record that are not described here are those of `Record`."""

    nodeid: str
    task: str
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
    sandbox_host: str | None
    memory_limit: str
    isolation: str
    error: ErrorRecord | None
    replay: ReplayRecord | None
    turns: tuple[TurnCounts, ...]
    temperature: float | None
    test_output_shown: bool  # with feedback: --recode-test-output=full
    snippet: (
        Mapping[str, Any] | None
    )  # of the task's facts, those of a snippet: paper, snippet, lines; None: it is none
    answers: int  # of the model, in turns that this episode paid for, including turns without a verdict
    unparsed: int  # of these, answers that could not be used
    asked_again: int  # of these, answers that were no step
    tampering: bool  # in any turn
    unverifiable: bool  # solved, and no test compares values, so that a pass proves less
    flagged: tuple[str, ...]  # findings of a turn in which every case passed, which alone make the episode unsolved
    shared: bool  # whether another episode paid for a turn
    seconds: float
    waited: float


def episode_summary(record: Record) -> EpisodeSummary:
    facts = record["facts"]
    counts = answers(record) or AbandonedRecord(steps=0, unparsed=0)
    asked_again = counts.get("asked_again", 0)
    return {
        "nodeid": record["nodeid"],
        "task": record["task"],
        "format": record["format"],
        "agent": record["agent"],
        "model": record["model"],
        "simulated": record["simulated"],
        "feedback": record["feedback"],
        "paper": record["paper"],
        "outcome": record["outcome"],
        "solved_turn": record["solved_turn"],
        "usage": record["usage"],
        "sandbox": record["sandbox"],
        "sandbox_host": record.get("sandbox_host"),
        "memory_limit": record.get("memory_limit", ""),
        "isolation": record["isolation"],
        "error": record["error"],
        "replay": record["replay"],
        "turns": tuple(_counts(turn["passed"], turn["total"]) for turn in record["turns"]),
        "temperature": record["settings"]["temperature"],
        "test_output_shown": record["settings"]["test_output"] == "full"
        and any(turn["feedback"] for turn in record["turns"]),
        "snippet": {key: facts[key] for key in SNIPPET} if facts.keys() >= set(SNIPPET) else None,
        "answers": counts["steps"] + asked_again,
        "unparsed": counts["unparsed"],
        "asked_again": asked_again,
        "tampering": any(turn["tampering"] for turn in record["turns"]),
        "unverifiable": record["outcome"] == "solved" and not record["turns"][-1].get("verifiable", True),
        "flagged": findings(record["outcome"], record["turns"]),
        "shared": any(turn["shared"] for turn in record["turns"]),
        "seconds": record["seconds"],
        "waited": record.get("waited", 0.0),
    }


@functools.cache
def _counts(passed: int, total: int) -> TurnCounts:
    """One object for all turns with these numbers, of which a session may have many."""
    return {"passed": passed, "total": total}
