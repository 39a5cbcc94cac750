"""The lines of a run's ledger, as types, by which a line that is read is checked. `ledger.py` writes and reads them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict, final

from pytest_recode.faults import ModelFault
from pytest_recode.schema.rules import Count, one_of
from pytest_recode.schema.stored_forms import load


class Reach(StrEnum):
    """Whether an address (or a provider's usual one), or one model there, can be reached, as far as a run knows."""

    ANSWERS = "answers"  # with whatever content
    WAITING = "waiting"  # no connection, or no complete answer; a process waits or tries again
    LOST = "lost"  # a process has tried again until its time limit


@final
class RunLine(TypedDict):
    """A later run begins in the same directory."""

    run: str


@final
class OpenLine(TypedDict):
    """A request that has no answer yet. `reserved_usd`: the most that it can cost; only requests of the gateway have it."""

    model: str
    call: Literal["begun"]
    reserved_usd: NotRequired[float]


@final
class SpentLine(TypedDict):
    """An answered request. A cost below 0, which only a wrong price has, is counted as it is."""

    model: str
    prompt_tokens: Count
    completion_tokens: Count
    cost_usd: float | None


@final
class UnansweredLine(TypedDict):
    """A request without an answer, and why."""

    model: str
    unanswered: str


@final
class ReplayedLine(TypedDict):
    """An answer from a cassette, which costs nothing. `recorded_usd`: what it cost when it was recorded; null if that is unknown."""

    model: str
    replayed: bool
    recorded_usd: float | None


@final
class FaultLine(TypedDict):
    """A fault that every later request of this run for the model would cause again."""

    model: str
    fault: Annotated[str, one_of(*ModelFault)]
    detail: str


@final
class ReachLine(TypedDict):
    """A change in whether an address can be reached."""

    address: str
    reach: Annotated[str, one_of(*Reach)]


LedgerLine = RunLine | OpenLine | SpentLine | UnansweredLine | ReplayedLine | FaultLine | ReachLine

_BY_KEY: Mapping[str, Any] = {
    "run": RunLine,
    "call": OpenLine,
    "unanswered": UnansweredLine,
    "replayed": ReplayedLine,
    "fault": FaultLine,
    "reach": ReachLine,
}


def ledger_line(stored: Any) -> LedgerLine:
    """A line that was read. Raises `DamagedError`."""
    known = next((key for key in _BY_KEY if isinstance(stored, dict) and key in stored), "")
    line: LedgerLine = load(_BY_KEY.get(known, SpentLine), stored)
    return line
