"""Values of an episode: the turns of one (task, model, policy, attempt)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from pytest_recode.schema.rules import (
    LATER,
    Count,
    LevelNumber,
    Number,
    Share,
    Stored,
    TextOrNull,
)
from pytest_recode.task import Files
from pytest_recode.usage import Usage
from pytest_recode.verdict import Verdict


class Stop(StrEnum):
    """Why an episode ended."""

    SOLVED = "solved"
    TURNS = "turns"
    GIVEN_UP = "given-up"
    TIME = "time"
    BUDGET = "budget"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackItem:
    """A researcher's remarks on one fault. A level shows the first fields of it. Several items may be about one interface.

    RECODE-H's record (its `Feedbacks` schema) under shorter names, with three more fields: `caused_by` names the interface that contains
    the fault; `possible_causes` names interfaces that may contain it; `authors` has, for each non-empty field, who wrote it: "model"
    "task" "person" "derived", or several of these joined by "+".
    """

    interface: str
    category: str = ""  # T0 … T4; recorded, not shown
    caused_by: Annotated[TextOrNull, LATER] = ""  # from L2
    possible_causes: Annotated[tuple[str, ...], LATER] = ()
    """Failing interfaces that this one, or its hidden tests, use: its own code may be right, and nothing here says otherwise."""
    authors: Annotated[Mapping[str, str], LATER] = field(default_factory=dict)
    description: str = ""  # from L1
    analysis: str = ""  # from L2
    suggestion: str = ""  # from L3, words only
    correction: str = ""  # from L4, code
    elsewhere: Annotated[Mapping[str, str], LATER] = field(default_factory=dict)
    """From L4, by file: code that the interface needs beside `correction`, in other files or in its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Passages of a feedback that repeated secret text, before `cut` of them were removed.

    A run is a number of consecutive tokens that are in the reference (or tests) but neither in the brief nor in the candidate. A share is
    the part of the feedback's tokens in runs long enough to be cut, 0 to 1 (feedback/audit.py). `encoded` passages were no natural
    language; earlier versions also counted some in which they decoded a secret, or did not count them: None.
    """

    reference_run: Count = 0
    reference_share: Share = 0.0
    tests_run: Count = 0
    tests_share: Share = 0.0
    cut: Count = 0
    encoded: Annotated[Count | None, Stored(later=True, absent=None)] = 0


TESTS_SAID = "The hidden tests said:"
"""The line in a feedback's text from which on it is their own output, in runs that show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """The feedback on one failed turn. An agent sees only `text`; `items` are for the record."""

    turn: Number  # the turn it answers, from 1
    level: LevelNumber
    source: str = "derived"  # "task" "model" "person" "derived"
    model: str = ""  # that wrote it, as the user named it
    prompt: str = ""  # version of the words that it was asked with
    audit: Audit = Audit()
    text: str
    items: tuple[FeedbackItem, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def characters(self) -> int:
        """Characters of the text that the agent gets."""
        return len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An agent's work in one turn: the number of steps, whether it submitted, and the cost.

    `unparsed`: number of model answers that could not be used as actions, and were not executed. `asked_again`: of these, those that were
    no step, because the model was asked again. `reindented`: the
    answer was moved to another indentation, as `--recode-reindent` allows. `stopped`: what ended the program that plays before it ended
    its turn: "time", "steps" or a limit of its sandbox; its work was judged as it was. `gave_up`: the episode ends after the grading of this turn.
    """

    steps: Count = 0
    unparsed: Annotated[Count, LATER] = 0
    asked_again: Annotated[Count, LATER] = 0
    submitted: bool = True
    reindented: Annotated[bool, LATER] = False
    gave_up: Annotated[bool, LATER] = False
    stopped: Annotated[str, LATER] = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Feedback -> Move -> Verdict. `number` counts from 1. The first turn has no feedback."""

    number: Annotated[Number, Stored(key="turn")]
    feedback: Feedback | None
    move: Move
    verdict: Verdict
    targets: Files = field(repr=False)
    seconds: float = 0.0
    shared: str = ""  # the node id of the episode that played and paid for it, where that was another

    @property
    def usage(self) -> Usage:
        return self.move.usage + (self.feedback.usage if self.feedback else Usage())


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    task: str
    turns: tuple[Turn, ...]
    stop: Stop
    seconds: float
    error: str = ""

    @property
    def solved_turn(self) -> int | None:
        return self.turns[-1].number if self.stop is Stop.SOLVED else None


Judge = Callable[[Files], Verdict]
Researcher = Callable[[Sequence[Turn], int], Feedback]
Policy = Callable[[Sequence[Turn]], int | None]
"""The level of the feedback on the last of these turns, 0 … 4; None: no feedback, the episode ends there."""
OnTurn = Callable[[Turn], None]
