"""Values of an episode: the turns of one (task, model, policy, attempt)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_recode.task import Files
from pytest_recode.usage import Usage
from pytest_recode.verdict import Verdict


class Stop(StrEnum):
    """Why an episode ended."""

    SOLVED = "solved"
    TURNS = "turns"
    TIME = "time"
    BUDGET = "budget"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackItem:
    """What a researcher has to say of one fault; a level shows the first fields of it. Several may be about one interface.

    RECODE-H's record (its `Feedbacks` schema), with its names shortened, and three fields more: `caused_by` names another interface, in
    which the fault is; `possible_causes` names others, in which it may be; `authors` says of each field that has something who wrote
    it: "model" "task" "person" "derived", or several of these, joined by "+".
    """

    interface: str
    category: str = ""  # T0 … T4; recorded, not shown
    description: str = ""  # from L1
    analysis: str = ""  # from L2
    suggestion: str = ""  # from L3, words only
    correction: str = ""  # from L4, code
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """From L4, by file: code that the interface needs beside `correction`, in other files or in its own."""
    caused_by: str = ""  # from L2
    possible_causes: tuple[str, ...] = ()
    """Failing interfaces that this one, or its hidden tests, use: its own code may be right, and nothing here says otherwise."""
    authors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What the words of a feedback repeated of what should stay secret, before `cut` passages were taken out of them.

    A run is a number of tokens in a row that reference (tests) have and neither brief nor candidate; a share is the part of the
    words' tokens that lie in runs long enough to be cut, 0 to 1 (feedback/audit.py). `encoded` of the passages were in another form than
    the secret is, or were no language.
    """

    reference_run: int = 0
    reference_share: float = 0.0
    tests_run: int = 0
    tests_share: float = 0.0
    cut: int = 0
    encoded: int = 0


TESTS_SAID = "The hidden tests said:"
"""The line in a feedback's text from which on it is their own output, in runs that show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One answer to one failed turn. `text` is all an agent sees; `items` are for the record."""

    level: int  # 0 … 4
    text: str
    turn: int  # the turn it answers, from 1
    items: tuple[FeedbackItem, ...] = ()
    source: str = "derived"  # "task" "model" "person" "derived"
    model: str = ""  # that wrote it, as the user named it
    prompt: str = ""  # version of the words that it was asked with
    audit: Audit = Audit()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What an agent did in a turn: how many steps it took, whether it submitted by itself, what it cost.

    `unparsed`: how many of its model's answers could not be read as actions. Each cost a step, and nothing of it was done.
    `reindented`: its answer was moved to another indentation, which `--recode-reindent` allows.
    """

    steps: int = 0
    unparsed: int = 0
    submitted: bool = True
    reindented: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Feedback -> Move -> Verdict. `number` counts from 1; the first turn has had no feedback."""

    number: int
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
