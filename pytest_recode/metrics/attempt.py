"""Attempt: one episode as the metrics use it, read from a record or from published results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pytest_recode.schema.rules import NOT_STORED, Count, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A ResearchCodeBench task: a block of one paper's code, measured in code lines."""

    paper: Name
    name: Name
    lines: Count
    dates: Annotated[Mapping[str, str], NOT_STORED] = field(
        default_factory=dict
    )  # DATES -> "2025-03-09"; unknown dates are missing


DATES = ("arxiv_v1_date", "arxiv_date", "first_commit_date", "last_commit_date")


def iso_dates(facts: Mapping[str, Any]) -> dict[str, str]:
    """The known dates of a paper, in ISO format so that they compare as texts: "2025-3-9" becomes "2025-03-09"."""
    return {
        key: "-".join(part.zfill(2) for part in str(facts[key]).split("-"))
        for key in DATES
        if facts.get(key) not in (None, "", "null")
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFailure:
    """A hidden case that did not pass, with the values of a record (docs/reference/records.md)."""

    kind: str
    exception: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScore:
    """One judged turn. `level` is that of the feedback before it; None: there was none."""

    level: str | None
    passed: int
    total: int
    failures: tuple[CaseFailure, ...] = ()
    tampering: bool = False
    categories: tuple[str, ...] = ()  # T0 … T4 of each item of that feedback; "": no category
    source: str = ""  # source of that feedback: "model" "task" "derived" "person"

    @property
    def solved(self) -> bool:
        return 0 < self.total == self.passed and not self.tampering


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Tokens and cost of a first turn that another episode paid for. The episode's own numbers include them."""

    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSpeed:
    """The largest speed-up of an episode's turns, with its interval; None if no turn had a valid solver. `published`: those of other models for this task."""

    speed_up: float | None
    low: float | None = None
    high: float | None = None
    published: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalTurn:
    """The original turn of an Attempt that is a replay: a single turn from the same state, with other feedback."""

    run: str  # the name of the original run's directory
    nodeid: str
    turn: int  # from 1
    level: str  # of the feedback before the original turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The identity of a line in a report: attempts of equal Rows are counted together."""

    source: str  # the name of the run; "published", or which of several published files
    model: str  # the agent's name if there was no model
    agent: str
    feedback: str  # the policy
    paper: bool  # whether the paper was in the prompt
    format: str
    simulated: bool = False
    published: bool = False  # results of a benchmark's authors
    impossible: bool = False  # the impossible twins of the tasks, whose results are none of the tasks
    settings: tuple[
        tuple[str, str], ...
    ] = ()  # other settings that must be equal in comparable runs: (name, value), sorted by name
    differs: str = ""  # settings and recorded values that differ from other rows of the report

    @property
    def setup(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One (task, attempt) of a Row.

    `outcome` is "solved", "unsolved" or "error" (no verdict). Published results have no turns (`turns` is empty), tokens and
    costs.
    """

    row: Row
    task: str
    number: int  # from 1
    outcome: str
    ended: str = ""  # when the episode ended, ISO 8601, UTC; "": unknown
    solved_turn: int | None = None
    turns: tuple[TurnScore, ...] = ()
    highest_level: str | None = None  # of the feedback before its turns; None: there was none
    feedback_characters: int | None = None  # of that feedback; None: not recorded
    snippet: Snippet | None = None
    cutoff: str = ""  # the model's knowledge cutoff: "2024-10" or "2024-10-17"; "": unknown
    isolation: str = ""
    tampering: int = 0  # number of turns in which the candidate interfered with its judge
    flagged: tuple[
        str, ...
    ] = ()  # findings of a turn in which every case passed, so that they alone made the episode unsolved
    answers: int | None = None  # of the model, in turns that this episode played; None: not recorded
    unparsed: int | None = None  # of these, answers that could not be used
    asked_again: int = 0  # of these, answers that were no step, because the model was asked again
    tokens: int | None = None
    completion_tokens: int | None = None  # of these, received from models
    cost_usd: float | None = None
    shared: Shared = Shared()
    nodeid: str = ""
    recorded: tuple[tuple[str, str], ...] = ()  # other recorded values: version, sandbox …
    digest: str = ""  # hash of the task's files; "": unknown
    seeds: frozenset[int] = frozenset()  # of the gradings
    year: int | None = None  # publication year of the task's paper
    reason: str = ""  # why it is not solved, in one line: the first case that failed in the last turn, or the error
    transcript: Path | None = None  # None: there is no such file
    speed: MeasuredSpeed | None = None  # of the solvers that it wrote; None: its benchmark measures none
    replay: OriginalTurn | None = None  # not None: the attempt is a replayed turn, which does not count as an episode

    @property
    def played(self) -> bool:
        return self.outcome != "error"

    def solved_within(self, turn: int | None = None) -> bool:
        """Whether the attempt was solved within `turn` turns; None: in any turn."""
        return self.solved_turn is not None and (turn is None or self.solved_turn <= turn)
