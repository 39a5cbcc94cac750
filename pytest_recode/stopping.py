"""Stop a run in order: no new request, the answers under way awaited and written down, then out.

One `Stops` per process of a run. Signal handlers run in the main thread, which plays the episodes; `request` may come from any thread.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from pytest_recode.faults import Stopped

AWAITED = 60.0
"""Seconds for which the answer to a request under way is awaited after a stop."""
_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class Stops:
    """`reason` is why this process's run stops; "" while it does not.

    A stop takes effect as `Stopped`, in an episode at once (`inside`), but for the time from before a request until its answer is
    in the transcript (`enter` to `settle`).
    """

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        self.reason = ""
        self.on_request: list[Callable[[], None]] = []  # called once, by whoever requests the stop
        self._check = check
        self._busy = False
        self._inside = False
        self._expired = False
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._installed = False
        self._main = threading.main_thread()
        self._poked = False
        self._followed = False

    def request(self, reason: str) -> None:
        """Stop for `reason`; the first one counts."""
        if not self.reason:
            self.reason = reason
            for each in self.on_request:
                each()

    def enter(self) -> None:
        """Before a request. Raises `Stopped`, and what the check of the run's directory raises."""
        if self.reason:
            raise Stopped(self.reason)
        self._check()
        self._busy = True

    def settle(self) -> None:
        """The answer is written down, or there is none. Raises `Stopped`."""
        self.settled()
        if self.reason:
            raise Stopped(self.reason)

    def settled(self) -> None:
        self._busy = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While an episode is played."""
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
            self.settled()

    @contextmanager
    def signals(self, outside: Callable[[str], bool], tell: Callable[[str], None]) -> Iterator[None]:
        """Take SIGTERM and Ctrl-C as requests to stop, in the main thread; whatever handled them does so again afterwards.

        `outside` is called with the reason where no episode is played, and returns whether the signal is dealt with; otherwise
        the handler before this one has it. `tell` says one line. A signal that is ignored stays so.
        """
        if threading.current_thread() is not self._main:
            yield
            return
        before = {number: signal.getsignal(number) for number in _NAMES}

        def handle(number: int, frame: FrameType | None) -> None:
            if self._expired:
                raise Stopped(self.reason)
            if self._poked and number == signal.SIGTERM:
                self._poked = False
                if self._timer is not None:
                    return  # a signal to the whole process group was first, and the answer is awaited already
            elif self.reason:
                if number == signal.SIGINT and not self._followed:
                    raise KeyboardInterrupt
                # A signal to the whole process group comes beside the controller's own word: the first Ctrl-C is the one that
                # stopped the controller, and only the next one ends the wait.
                self._followed = False
                return
            else:
                self.request(f"stopped by {_NAMES[signal.Signals(number)]}")
            if self._busy:
                tell(f"{self.reason}: waiting up to {AWAITED:.0f} s for the answer under way; Ctrl-C ends the wait")
                self.limit(AWAITED)
            elif self._inside:
                raise Stopped(self.reason)
            elif not outside(self.reason):
                earlier = before[signal.Signals(number)]
                if callable(earlier):
                    earlier(number, frame)
                raise Stopped(self.reason)

        taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN and handler is not None]
        for number in taken:
            signal.signal(number, handle)
        self._installed = signal.SIGTERM in taken
        try:
            yield
        finally:
            with self._lock:
                self._installed = False
            self.settled()
            for number in taken:
                signal.signal(number, before[number])

    def limit(self, seconds: float) -> None:
        """End what is waited for, after so many seconds."""
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def follow(self, wait: Callable[[], None]) -> None:
        """Stop once `wait` returns, which is called in a thread of its own: the controlling process asks no more models."""

        def run() -> None:
            wait()
            if not self.reason:
                self._poked = self._followed = True
                self.request("stopped with the run")
                if not self._poke():
                    self._poked = False

        threading.Thread(target=run, name="recode-stop", daemon=True).start()

    def _expire(self) -> None:
        self._expired = True
        self._poke()

    def _poke(self) -> bool:
        """Have the main thread notice at once, also in the middle of a system call."""
        with self._lock:
            if self._installed and self._main.ident is not None:
                signal.pthread_kill(self._main.ident, signal.SIGTERM)
            return self._installed
