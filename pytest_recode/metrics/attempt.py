"""Attempt: one played episode as the metrics see it, whatever file it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """What ResearchCodeBench knows of a task: a piece of one paper's code, measured in code lines."""

    paper: str
    name: str
    lines: int
    dates: Mapping[str, str] = field(default_factory=dict)  # DATES -> "2025-03-09"; what is not known is left out


DATES = ("arxiv_v1_date", "arxiv_date", "first_commit_date", "last_commit_date")


def iso_dates(facts: Mapping[str, Any]) -> dict[str, str]:
    """The known dates of a paper, in ISO format so that they compare as texts: "2025-3-9" becomes "2025-03-09"."""
    return {
        key: "-".join(part.zfill(2) for part in str(facts[key]).split("-"))
        for key in DATES
        if facts.get(key) not in (None, "", "null")
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A hidden case that did not pass, in the words of a record (docs/reference/records.md)."""

    kind: str
    exception: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScore:
    """One judged turn. `level` is that of the feedback it began with; None: it had none."""

    level: str | None
    passed: int
    total: int
    failures: tuple[Failure, ...] = ()
    tampering: bool = False
    categories: tuple[str, ...] = ()  # T0 … T4 of each item of that feedback; "": it has none
    source: str = ""  # who wrote that feedback: "model" "task" "derived" "person"

    @property
    def solved(self) -> bool:
        return 0 < self.total == self.passed and not self.tampering


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the first turn of an episode took, where another episode had paid for it. It is in the episode's own numbers too."""

    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The turn that was really played, of which an Attempt is a replay: a single turn from the same state, with other feedback."""

    run: str  # the name of its directory
    nodeid: str
    turn: int  # from 1
    level: str  # of the feedback that it really had


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is told apart in a report: every Row is a line of its own."""

    source: str  # the name of the run; "published", or which of several published files
    model: str  # the agent's name where no model was asked
    agent: str
    feedback: str  # the policy
    paper: bool  # whether the paper was in the prompt
    format: str
    simulated: bool = False
    published: bool = False  # by a benchmark's authors, of their own runs
    settings: tuple[tuple[str, str], ...] = ()  # whatever else makes runs incomparable: name -> value, by name
    differs: str = ""  # of these and of what else was recorded, what other rows of the report have otherwise

    @property
    def setup(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One (task, attempt) of a Row.

    `outcome` is "solved", "unsolved", or "error": could not be played to its end. What was published tells no turns
    (`turns` is empty), no tokens and no costs.
    """

    row: Row
    task: str
    number: int  # from 1
    outcome: str
    solved_turn: int | None = None
    turns: tuple[TurnScore, ...] = ()
    snippet: Snippet | None = None
    cutoff: str = ""  # the model's knowledge ends there: "2024-10" or "2024-10-17"; "" not known
    isolation: str = ""
    tampering: int = 0  # turns in which the candidate did something to its judge
    flagged: tuple[str, ...] = ()  # the findings that alone kept it from being solved: in one turn every case passed
    answers: int | None = None  # of the model, in turns that the episode itself played; None: not recorded
    unparsed: int | None = None  # of them, those that could not be read as actions; each cost a step
    tokens: int | None = None
    cost_usd: float | None = None
    shared: Shared = Shared()
    nodeid: str = ""
    made: tuple[tuple[str, str], ...] = ()  # what else was recorded of how it was played: version, sandbox …
    digest: str = ""  # of the task's files; "": not known
    seeds: frozenset[int] = frozenset()  # of its gradings
    year: int | None = None  # in which the task's paper appeared
    transcript: Path | None = None
    replay: Replay | None = None  # then it is no episode, and in no number of episodes

    @property
    def played(self) -> bool:
        return self.outcome != "error"

    def solved_within(self, turn: int | None = None) -> bool:
        """Whether it was solved in that many turns; None: at all."""
        return self.solved_turn is not None and (turn is None or self.solved_turn <= turn)
