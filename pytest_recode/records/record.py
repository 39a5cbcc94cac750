"""The record of an episode: one line of results.jsonl (schema 1), as types and as functions that make its parts.

The types are the only definition of the format. The check of a record that is read (`line_check.py`), the schema
`records.schema.json` and the page docs/reference/record-fields.md are derived from them (`schema/stored_forms.py`). Keys that records of earlier
versions lack are `NotRequired`. Transcripts and checkpoints store more of each turn. Values are plain JSON types,
because pytest-xdist sends records from workers to the controller.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Any, NotRequired, TypedDict

from pytest_recode.episode import Turn
from pytest_recode.records.episode_error import ErrorRecord
from pytest_recode.records.queue_record import QueuedRecord
from pytest_recode.records.setup_record import DateFacts, Replaced, SettingsRecord
from pytest_recode.schema import field_checks
from pytest_recode.schema.rules import (
    REMEMBERED,
    Count,
    Cutoff,
    Level,
    Name,
    NonNegative,
    Number,
    Rule,
    Seed,
    Share,
    known,
    one_of,
    whole_number,
)
from pytest_recode.schema.stored_forms import check_of, view
from pytest_recode.usage import Usage

SCHEMA = 1

_TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\+00:00$"
_AUTHORS = {
    "propertyNames": {"enum": ["category", "description", "analysis", "suggestion", "correction", "caused_by"]},
    "additionalProperties": {
        "type": "string",
        "pattern": "^(task|model|person|derived)([+](task|model|person|derived))?$",
    },
}


class UsageRecord(TypedDict):
    prompt_tokens: Annotated[Count, "tokens sent to models"]
    completion_tokens: Annotated[Count, "tokens received from models"]
    cost_usd: Annotated[NonNegative | None, "cost in US dollars; null: a price is unknown"]


class AuditRecord(TypedDict):
    reference_run: Annotated[Count, "tokens of the longest run from the reference"]
    reference_share: Annotated[Share, "share of the text's tokens in runs of 8 or more"]
    tests_run: Annotated[Count, "reference_run for hidden tests"]
    tests_share: Annotated[Share, "reference_share for hidden tests"]
    cut: Annotated[Count, "number of passages cut"]
    encoded: NotRequired[Annotated[Count, "of these, passages that were no natural language"]]


class FeedbackItemRecord(TypedDict):
    interface: Annotated[str, "interface that the item is about"]
    category: Annotated[str, known("T0", "T1", "T2", "T3", "T4", ""), "category of the fault; never shown to agents"]
    caused_by: NotRequired[Annotated[str | None, "interface with the fault, if it is another one"]]
    possible_causes: NotRequired[
        Annotated[list[str], "failing interfaces that this one or its hidden tests use, and that may have the fault"]
    ]
    authors: NotRequired[
        Annotated[
            dict[str, str],
            Rule(schema=_AUTHORS),
            "authors of each field with text; two authors are joined by + in the order of their text",
        ]
    ]


class FeedbackRecord(TypedDict):
    """The feedback before a turn, without its text."""

    source: Annotated[
        str,
        known("task", "model", "person", "derived"),
        "researcher that was asked; `items` have the authors of each field",
    ]
    model: Annotated[str | None, "name of the model that wrote it, as the user gave it"]
    prompt: Annotated[str | None, "version of the prompt for the model"]
    audit: Annotated[AuditRecord, "parts of reference and hidden tests in the text, before passages were cut"]
    items: Annotated[list[FeedbackItemRecord], "items of the feedback, each about one interface"]
    characters: NotRequired[Annotated[Count, "characters of the text that the agent got"]]


class CaseRecord(TypedDict):
    id: Annotated[str, "pytest's id of the hidden test"]
    interface: Annotated[str, "interface that the case tests"]
    outcome: Annotated[
        str,
        one_of("passed", "failed", "error"),
        Rule(dump=attrgetter("value")),
        "result of the case; everything except passed counts as failed",
    ]
    kind: Annotated[str, "kind of failure; empty if the case passed"]
    exception: Annotated[str | None, Rule(dump=attrgetter("type")), "type of the exception that the candidate raised"]
    junit: NotRequired[
        Annotated[
            str,
            known("", "passed", "failure", "error", "skipped"),
            "status of the case in pytest's JUnit report; empty: unknown",
        ]
    ]


class TurnRecord(TypedDict):
    turn: Annotated[Number, "counted from 1"]
    level: Annotated[Level | None, "level of the feedback before this turn; null: none"]
    feedback: Annotated[FeedbackRecord | None, "feedback before this turn, without its text"]
    passed: Annotated[Count, "number of hidden cases that passed"]
    failed: Annotated[Count, "number of hidden cases that did not pass"]
    total: Annotated[Number, "number of hidden cases"]
    cases: Annotated[list[CaseRecord], Rule(schema={"minItems": 1}), "verdict for each case"]
    tampering: Annotated[list[str], "findings: how the candidate interfered with its judge"]
    verifiable: NotRequired[
        Annotated[
            bool,
            "false if no test of a shared judge fails right code when the values that it compares are shifted, so that a pass proves less; absent otherwise",
        ]
    ]
    versions: NotRequired[
        Annotated[dict[str, str], "versions of Python (`python`) and of the libraries that the grader had loaded"]
    ]
    scores: NotRequired[
        Annotated[
            dict[str, float], "what the judge measured beside the cases, by name, such as a speed-up; absent: nothing"
        ]
    ]
    seed: Annotated[Seed, "seed of the grading; --recode-seed repeats it"]
    shifted: NotRequired[Annotated[str, "of an impossible twin: the case of which one expected value was shifted"]]
    steps: NotRequired[
        Annotated[Count, "steps of the agent in this turn: answers of the model, without those of `asked_again`"]
    ]
    unparsed: NotRequired[Annotated[Count, "answers that could not be used; nothing of them was executed"]]
    asked_again: NotRequired[Annotated[Count, "of these, answers that were no step, because the model was asked again"]]
    reindented: Annotated[bool, "the answer's indentation was corrected (--recode-reindent)"]
    stopped: NotRequired[
        Annotated[
            str, "what ended a command-line agent before it ended its turn: `time`, `steps`, or a limit of its sandbox"
        ]
    ]
    shared: Annotated[str | None, "node id of the episode that played and paid for this turn, if it is another one"]
    usage: Annotated[UsageRecord, "tokens and cost of this turn"]
    seconds: Annotated[NonNegative, "wall time of this turn"]


class AbandonedRecord(TypedDict):
    steps: Annotated[Count, "steps of the agent"]
    unparsed: Annotated[Count, "answers that could not be used"]
    asked_again: NotRequired[Annotated[Count, "of these, answers that were no step, because the model was asked again"]]


class ReplayRecord(TypedDict):
    run: Annotated[str, "name of the original run's directory"]
    nodeid: Annotated[str, "node id of the original episode"]
    turn: Annotated[int, whole_number(2), "number of the original turn"]
    level: Annotated[Level, "level of the feedback before the original turn"]


_FACTS = Rule(check=check_of(DateFacts))
_COMPARED = Rule(check=field_checks.values_of(field_checks.single))
"""Settings are compared, also those of later versions."""


class EpisodeFacts(TypedDict):
    """Values that are known when an episode starts: the first line of its transcript."""

    schema: Annotated[int, Rule(schema={"const": SCHEMA}), "version of this format"]
    nodeid: Annotated[Name, "pytest's id of the item"]
    task: Annotated[Name, "the id of the task"]
    format: Annotated[Name, "the task format that loaded it"]
    facts: Annotated[dict[str, Any], _FACTS, "further values from the task's format"]
    agent: Annotated[Name, "name of the agent (--recode-agent)"]
    model: Annotated[Name | None, "name that the user gave; null for an agent without a model"]
    simulated: Annotated[bool, "true for the built-in offline models"]
    feedback: Annotated[Name, "feedback policy, with its options"]
    feedback_model: Annotated[str | None, "name of the model that wrote feedback, as the user gave it; null: none"]
    attempt: Annotated[Number, "number of the attempt, up to --recode-attempts"]
    shard: NotRequired[
        Annotated[
            Annotated[str, Rule(schema={"pattern": "^[1-9][0-9]*/[1-9][0-9]*$"})] | None,
            "part of the run that played the episode: --recode-shard; null: the run was not divided",
        ]
    ]
    paper: Annotated[bool, "whether the paper was in the prompt"]
    paper_date: Annotated[str, "date of the paper, from the task"]
    cutoff: Annotated[Cutoff, "the model's knowledge cutoff, from the table of models; empty: unknown"]
    settings: Annotated[
        SettingsRecord, _COMPARED, REMEMBERED, "other settings that must be equal in comparable records"
    ]
    sandbox: Annotated[str, "kind of sandbox that ran the code"]
    sandbox_host: NotRequired[
        Annotated[
            str | None,
            "address of the Docker daemon (--recode-docker-host, DOCKER_HOST or the active context), without a password; null: this machine",
        ]
    ]
    memory_limit: NotRequired[
        Annotated[
            str,
            "what limited the memory of each launch as a whole: a control group of the kernel, or only measurements (`measured`)",
        ]
    ]
    isolation: Annotated[
        str,
        known("separate", "process", "shared", "verifier", "verifier-shared"),
        "how candidate and hidden tests were separated: in two sandboxes, in two processes without isolation, in one process, or by a script of the task that may start the candidate, in a sandbox of its own or in the agent's",
    ]
    replaced: NotRequired[Replaced]
    agent_version: NotRequired[Annotated[str, "of a command-line agent; empty: from --recode-agent-path"]]
    transcript: Annotated[str, "path of the transcript, relative to the directory of results.jsonl"]
    digest: Annotated[str | None, "hash of the task's files in this run; null: they could not be read"]
    replay: Annotated[ReplayRecord | None, "origin of a replayed turn (--recode-replay-feedback); null: an episode"]


class Record(EpisodeFacts):
    """A line of results.jsonl."""

    outcome: Annotated[
        str, one_of("solved", "unsolved", "error"), "result of the episode; error: no verdict, and in no share"
    ]
    stop: Annotated[
        str,
        known("solved", "turns", "given-up", "time", "budget", "error"),
        "reason for the end of the episode; given-up: a person gave up (--recode-agent=person)",
    ]
    solved_turn: Annotated[Number | None, "turn that solved the task; null: not solved"]
    passed_but_flagged: NotRequired[
        Annotated[
            bool,
            "the episode is unsolved although every case of a turn passed, because of a finding of the shared judge (`tampering`)",
        ]
    ]
    turns: Annotated[list[TurnRecord], "judged turns, in order"]
    abandoned: NotRequired[
        Annotated[
            AbandonedRecord,
            "answers of the model in turns that were not judged because of an error or the end of the run; their cost is in `usage`",
        ]
    ]
    usage: Annotated[UsageRecord, "tokens and cost of all turns, including the feedback model's calls"]
    seconds: Annotated[NonNegative, "wall time of the whole episode"]
    waited: NotRequired[
        Annotated[
            NonNegative,
            "the part of `seconds` that does not count against the time limit: failed tries, the pauses between them, and other waiting",
        ]
    ]
    queued: NotRequired[
        Annotated[
            QueuedRecord,
            "waits for room on the machine (--recode-in-flight), a part of `waited`: they count towards no time limit",
        ]
    ]
    ended: NotRequired[
        Annotated[str, Rule(check=field_checks.TIME, schema={"pattern": _TIME}), "when the episode ended, UTC"]
    ]
    error: Annotated[ErrorRecord | None, "reason for a missing verdict; null: there is a verdict"]


def cause(error: ErrorRecord) -> str:
    """The message without details that differ between episodes with the same cause."""
    return error.get("cause", error["message"])


def main_line(message: str, kind: str) -> str:
    """The line of an error's message that says most: of the traceback of an unexpected exception, the last one."""
    lines = message.strip().splitlines() or [""]
    return lines[-1 if kind == "internal" else 0]


def usage(spent: Usage) -> UsageRecord:
    return view(spent, UsageRecord)


def total(turns: Sequence[Turn]) -> Usage:
    return sum((turn.usage for turn in turns), Usage())


def turn(played: Turn) -> TurnRecord:
    record: TurnRecord = {
        "turn": played.number,
        "level": None if played.feedback is None else f"L{played.feedback.level}",
        "feedback": None if played.feedback is None else view(played.feedback, FeedbackRecord),
        "passed": played.verdict.passed,
        "failed": played.verdict.failed,
        "total": len(played.verdict.cases),
        "cases": [view(case, CaseRecord) for case in played.verdict.cases],
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
    if played.verdict.scores:
        record["scores"] = dict(played.verdict.scores)
    if played.verdict.shifted:
        record["shifted"] = played.verdict.shifted
    if not played.verdict.verifiable:
        record["verifiable"] = False
    if played.move.stopped:
        record["stopped"] = played.move.stopped
    return record


def answers(record: Record) -> AbandonedRecord | None:
    """The answers of the model that this episode paid for, also in turns without a verdict; None for an older record without the numbers."""
    paid = [turn for turn in record["turns"] if not turn["shared"]]
    if not all("steps" in turn and "unparsed" in turn for turn in paid):
        return None
    every = [*paid, record.get("abandoned", AbandonedRecord(steps=0, unparsed=0))]
    return {
        "steps": sum(each["steps"] for each in every),
        "unparsed": sum(each["unparsed"] for each in every),
        "asked_again": sum(each.get("asked_again", 0) for each in every),
    }


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
