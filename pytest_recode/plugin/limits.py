"""Limits of an item's time, kept by one alarm in the main thread.

Two limits exist. pytest-timeout's (`--timeout`, its ini key, marker and environment variable) is wall-clock time. Where the user
gave none, the item's own stands behind what the item enforces by itself, on the episode's clock. pytest-timeout asks plugins to
set its timers; this one does, for items of tasks: pytest-timeout's own signal prints stack traces, and its thread ends the process.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.clock import Clock, Wait
from pytest_recode.faults import Interrupt, ModelError, ModelFault

if TYPE_CHECKING:
    from pytest_recode.records.record import ErrorRecord, Record

AGAIN = 1.0
"""Seconds after which an alarm that came too early (the clock stood still meanwhile) comes again, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """`name` as messages have it. `clock`: the seconds that count."""

    seconds: float
    name: str
    clock: Callable[[], float] = time.monotonic


class LimitReached(Interrupt):
    """Raised in the main thread, in the middle of whatever it does. It says what the episode was waiting for at that moment."""

    def __init__(self, limit: Limit, clock: Clock) -> None:
        super().__init__(f"{limit.name} ({limit.seconds:g} s) passed")
        self.limit = limit
        self.wait: Wait | None = clock.wait
        self.waited = clock.waited

    def fault(self, turns: int) -> ErrorRecord | None:
        """Why this is no failure of whoever plays, as a record has it; None where it is one. `turns`: how many were graded.

        It is one where the limit has passed although the waits are left out, at work, after a graded turn.
        """
        if self.wait is not None and self.wait.model:
            detail = f"it had not answered when {self}: raise that limit, or lower --recode-call-seconds"
            return {"kind": "model:timeout", "message": str(ModelError(ModelFault.TIMEOUT, self.wait.model, detail))}
        if self.wait is not None:
            return {
                "kind": "time",
                "message": f"{self} while the episode waited for {self.wait.what}: raise that limit",
            }
        if not turns:
            return {"kind": "time", "message": f"{self} before a turn was graded: raise that limit"}
        if self.limit.clock is time.monotonic and self.waited > 0:
            return {
                "kind": "time",
                "message": f"{self}, and {self.waited:.0f} s of that were spent waiting for answers: raise that limit",
            }
        return None

    def record(self, cut: Record) -> Record:
        """The record of the episode, of which `cut` is what its transcript tells."""
        error = self.fault(len(cut["turns"]))
        return {
            **cut,
            "outcome": "error" if error else "unsolved",
            "stop": "error" if error else "time",
            "error": error,
            "waited": round(self.waited, 3),
        }


class Timer:
    """Of one item. A limit that passes while nothing is at work is noticed when work begins."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._working = False
        self._before: Any = None
        self._set = False
        self._own: Limit | None = None

    def start(self, limit: Limit, ignored: Callable[[], bool] = lambda: False) -> bool:
        """Whether an alarm can be set here: only the main thread has signals."""
        if threading.current_thread() is not threading.main_thread():
            return False
        began = limit.clock()

        def ring(signum: int, frame: object) -> None:
            left = limit.seconds - (limit.clock() - began)
            if left > 0 or not self._working:
                signal.setitimer(signal.ITIMER_REAL, max(left, AGAIN))
            elif not ignored():
                raise LimitReached(limit, self.clock)

        self.stop()
        self._before = signal.signal(signal.SIGALRM, ring)
        self._set = True
        signal.setitimer(signal.ITIMER_REAL, limit.seconds)
        return True

    def stop(self) -> None:
        if self._set:
            self._set = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    @contextmanager
    def working(self, seconds: float | None) -> Iterator[Clock]:
        """With a fresh clock. `seconds` are the item's own limit, for where there is no other; None: there is none."""
        self.clock = clock = Clock()
        if not self._set and seconds is not None:
            self._own = Limit(seconds=seconds, name="the time limit of this item", clock=clock)
            self.start(self._own, _debugging)
        self._working = True
        try:
            yield clock
        finally:
            self._working = False
            if self._own is not None:
                self._own = None
                self.stop()

    def restart(self) -> None:
        """Count the item's own limit from now on, for items of many gradings. A limit of the user's goes on."""
        if self._own is not None:
            self.start(self._own, _debugging)


def _debugging() -> bool:
    from pytest_timeout import is_debugging  # type: ignore[import-untyped]

    return bool(is_debugging())


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    timer = getattr(item, "timer", None)
    if not isinstance(timer, Timer):
        return None
    limit = Limit(seconds=settings.timeout, name="the limit of pytest-timeout")
    ignored = (lambda: False) if settings.disable_debugger_detection else _debugging
    return timer.start(limit, ignored) or None


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> bool | None:
    timer = getattr(item, "timer", None)
    if not isinstance(timer, Timer):
        return None
    timer.stop()
    return None  # a timer of pytest-timeout's own may have been set where there is no main thread
