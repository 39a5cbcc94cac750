"""The cost of one episode: what the run's ledger and the gateway tell of its model calls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from pytest_recode.clock import Clock
from pytest_recode.faults import ModelError
from pytest_recode.models import CallDetails, Ledger, Reach, Usage
from pytest_recode.records.transcript import Transcript


@dataclass(slots=True, kw_only=True)
class Meter:
    """The run's ledger, which also adds up this episode's share and writes it to its transcript."""

    ledger: Ledger
    transcript: Transcript
    clock: Clock
    total: Usage = field(default_factory=Usage)
    counted: set[str] = field(default_factory=set)  # ids of the gateway's calls that `total` includes
    open: int = 0  # calls of the gateway whose answers are awaited

    def before_call(self, model: str) -> None:
        self.ledger.before_call(model)
        self.clock.tried()

    def enter(self) -> None:
        self.ledger.enter()

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return self.ledger.waiting(wake)

    def spent(self, model: str, usage: Usage) -> None:
        self.ledger.spent(model, usage)
        self.total += usage
        self.transcript.usage(model, usage)

    def unanswered(self, model: str, why: str) -> None:
        self.ledger.unanswered(model, why)

    def settle(self) -> None:
        """As `Ledger.settle`, if no other answer is awaited."""
        if not self.open:
            self.ledger.settle()

    def fault(self, error: ModelError) -> None:
        self.ledger.fault(error)

    def answered(self, model: str) -> bool:
        return self.ledger.answered(model)

    def reached(self, where: str, now: Reach) -> Reach:
        return self.ledger.reached(where, now)

    def retry(self, error: ModelError, pause: float) -> None:
        self.ledger.retry(error, pause)
        self.transcript.retry(error.model, f"model:{error.fault.value}", error.detail, pause)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayMeter:
    """Records the calls that the gateway makes for an episode; the gateway itself writes the run's ledger."""

    meter: Meter
    turn_of: Callable[[], int]
    first_turn_of: Callable[[], str]

    @property
    def turn(self) -> int:
        return self.turn_of()

    @property
    def first_turn(self) -> str:
        return self.first_turn_of()

    def begin(self) -> None:
        self.meter.enter()
        self.meter.open += 1
        self.meter.clock.enqueued()

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return self.meter.waiting(wake)

    def tried(self) -> None:
        self.meter.clock.tried()

    def retry(self, error: ModelError, pause: float) -> None:
        self.meter.retry(error, pause)

    def answered(self, model: str, usage: Usage, details: CallDetails) -> None:
        self.meter.open -= 1
        if details.call in self.meter.counted:
            self.meter.transcript.reused(model, details.call)
            return
        if details.call:
            self.meter.counted.add(details.call)
        self.meter.total += usage
        self.meter.transcript.usage(model, usage, details)

    def failed(self) -> None:
        self.meter.open -= 1
        self.meter.settle()
