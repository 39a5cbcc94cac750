"""Time limits of an item, enforced by an alarm in the main thread.

There are two limits. pytest-timeout's (`--timeout`, its ini key, marker and environment variable) is wall-clock time. If the user sets
none, the item has a backup limit on the episode's clock, in addition to the limits that it enforces itself. pytest-timeout lets plugins
set its timers, and this one does for items of tasks: pytest-timeout's own signal prints stack traces, and its thread ends the process.
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
    from pytest_recode.records.episode_error import ErrorRecord
    from pytest_recode.records.record import Record

AGAIN = 1.0
"""Minimum seconds until the next alarm, if an alarm came too early because the clock was stopped in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """`name` is for messages. `clock` measures the seconds that count."""

    seconds: float
    name: str
    clock: Callable[[], float] = time.monotonic


class LimitReached(Interrupt):
    """Raised in the main thread at any point. Stores what the episode was waiting for at that moment."""

    def __init__(self, limit: Limit, clock: Clock) -> None:
        super().__init__(f"{limit.name} ({limit.seconds:g} s) passed")
        self.limit = limit
        self.wait: Wait | None = clock.wait
        self.waited = clock.waited
        self.queued = clock.queued

    def fault(self, turns: int) -> ErrorRecord | None:
        """The error for the record; None if the episode is unsolved. `turns`: the number of graded turns.

        The episode is unsolved if the limit has passed without counting the waits, while the model or agent worked, after a graded turn.
        """
        if self.wait is not None and self.wait.model:
            detail = f"it had not answered when {self}: raise that limit, or lower --recode-call-seconds"
            if self.queued:
                detail = f"it was not asked yet when {self}, because other calls, the rate limit or the budget came first: raise that limit, or use fewer workers (-n)"
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
        """The record of the episode. `cut` is the record recovered from its transcript."""
        error = self.fault(len(cut["turns"]))
        return {
            **cut,
            "outcome": "error" if error else "unsolved",
            "stop": "error" if error else "time",
            "error": error,
            "waited": round(self.waited, 3),
        }


def limits_of(item: Any, clock: Clock) -> list[Limit]:
    """The limits of an item that plays in a thread, where no alarm rings: pytest-timeout's, or its own."""
    # pytest-timeout sets its timers around the protocol of an item, which begins when such an item has ended. No public function has its settings.
    from pytest_timeout import _get_item_settings  # type: ignore[import-untyped]

    seconds = _get_item_settings(item).timeout
    if seconds is not None and seconds > 0:
        return [Limit(seconds=seconds, name="the limit of pytest-timeout")]
    return [Limit(seconds=item.seconds, name="the time limit of this item", clock=clock)] if item.seconds else []


class Timer:
    """The timer of one item. A limit that passes outside of `working` is detected when it starts."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._working = False
        self._before: Any = None
        self._set = False
        self._own: Limit | None = None

    def start(self, limit: Limit, ignored: Callable[[], bool] = lambda: False) -> bool:
        """Set an alarm. Returns False outside of the main thread, where signals are not available."""
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
        """Work with a new clock. `seconds` is the item's own limit, used if there is no other; None: no limit."""
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
        """Restart the item's own limit, for items of many gradings. A limit of the user continues."""
        if self._own is not None:
            self.start(self._own, _debugging)


def _debugging() -> bool:
    from pytest_timeout import is_debugging

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
    return None  # outside of the main thread, pytest-timeout may have set its own timer
