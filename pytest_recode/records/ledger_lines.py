"""The lines of a run's ledger, as types, and the check of a line that is read. `ledger.py` writes and reads them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, NotRequired, TypedDict, final

from pytest_recode.faults import ModelFault
from pytest_recode.records.field_checks import FLAG, NUMBER, TEXT, object_of, one_of, or_null, whole_number
from pytest_recode.records.record import UsageRecord


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
class SpentLine(UsageRecord):
    """An answered request."""

    model: str


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
    fault: str
    detail: str


@final
class ReachLine(TypedDict):
    """A change in whether an address can be reached."""

    address: str
    reach: str


LedgerLine = RunLine | OpenLine | SpentLine | UnansweredLine | ReplayedLine | FaultLine | ReachLine

_SPENT = object_of(
    model=TEXT, prompt_tokens=whole_number(0), completion_tokens=whole_number(0), cost_usd=or_null(NUMBER)
)
_BY_KEY = {
    "run": object_of(run=TEXT),
    "call": object_of(model=TEXT, call=one_of("begun"), reserved_usd_=NUMBER),
    "unanswered": object_of(model=TEXT, unanswered=TEXT),
    "replayed": object_of(model=TEXT, replayed=FLAG, recorded_usd=or_null(NUMBER)),
    "fault": object_of(model=TEXT, fault=one_of(*ModelFault), detail=TEXT),
    "reach": object_of(address=TEXT, reach=one_of(*Reach)),
}


def ledger_fault(line: Any) -> str:
    """The first wrong key of a line and what it must be; "" if nothing is wrong."""
    known = next((key for key in _BY_KEY if isinstance(line, dict) and key in line), "")
    return (_BY_KEY[known] if known else _SPENT)(line).lstrip(".: ")
