"""Stop a run in order: send no new request, wait for pending answers and record them, then end.

There is one `Stops` in each process of a run. Signal handlers run in the main thread, which runs the episodes; any thread may call
`request`.
"""

from __future__ import annotations

import errno
import os
import signal
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType

from pytest_recode.faults import Stopped

AWAITED = 60.0
"""Seconds to wait for a pending answer after a stop."""
_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


def await_children() -> None:
    """Handle SIGCHLD by default if this process inherited that it is ignored, as from some daemons and init wrappers.

    With it ignored, the kernel discards how children ended: `subprocess` takes every exit status for 0, and `bwrap` hangs. Only the main
    thread can change that.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def leave_closed_terminals() -> None:
    """Let what this process still writes to a terminal that was closed go nowhere: every write there fails."""
    for entry in Path("/proc/self/fd").iterdir():
        try:
            termios.tcgetattr(int(entry.name))
        except termios.error as error:
            if error.args[0] == errno.EIO:
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, int(entry.name), inheritable=False)
                os.close(nowhere)


class Stops:
    """The state of a stop in this process. `reason` is why the run stops, or "" if it does not.

    A stop raises `Stopped`: in an episode (`inside`) immediately, but not between a request and the recording of its answer (`enter`
    to `settle`).
    """

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        self.reason = ""
        self.on_request: list[Callable[[], None]] = []  # called once, in the thread that requests the stop
        self._check = check
        self._busy = False
        self._inside = False
        self._in_flight: Callable[[], Sequence[bool]] = (
            tuple  # of each episode of another thread: whether it waits for an answer
        )
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

    def check(self) -> None:
        """Raises `Stopped` if the run stops, and what the check of the run's directory raises."""
        if self.reason:
            raise Stopped(self.reason)
        self._check()

    def enter(self) -> None:
        """Call it before a request. Raises what `check` raises."""
        self.check()
        self._busy = True

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        """Nothing: a signal ends the wait."""
        return nullcontext()

    def settle(self) -> None:
        """Call it when the answer is recorded, or if there is none. Raises `Stopped`."""
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
        """Wrap an episode, in which a stop takes effect immediately."""
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
            self.settled()

    @contextmanager
    def in_flight(self, busy: Callable[[], Sequence[bool]]) -> Iterator[None]:
        """Wrap a loop whose episodes run in other threads: it ends them after a stop, so that a signal only requests one. `busy`: whether
        each of those that run now waits for an answer."""
        self._in_flight = busy
        try:
            yield
        finally:
            self._in_flight = tuple
            self.settled()

    @contextmanager
    def signals(self, outside: Callable[[str], bool], notify: Callable[[str], None]) -> Iterator[None]:
        """Handle SIGTERM, Ctrl-C and SIGHUP (a closed terminal) as requests to stop, in the main thread. Restores the previous
        handlers on exit.

        `outside` is called with the reason if no episode is running, and returns whether it handled the signal; if not, the previous
        handler is called. `notify` shows one line to the user. A signal that is ignored remains ignored.
        """
        if threading.current_thread() is not self._main:
            yield
            return
        before = {number: signal.getsignal(number) for number in _NAMES}

        def handle(number: int, frame: FrameType | None) -> None:
            if number == signal.SIGHUP:
                leave_closed_terminals()
            if self._expired:
                raise Stopped(self.reason)
            if self._poked and number == signal.SIGTERM:
                self._poked = False
                if self._timer is not None:
                    return  # a signal to the whole process group was first, and the answer is awaited already
            elif self.reason:
                if number == signal.SIGINT and not self._followed:
                    raise KeyboardInterrupt
                # A signal to the process group arrives in addition to the controller's own request: the first Ctrl-C is the one that
                # stopped the controller, and only the next one ends the wait.
                self._followed = False
                return
            else:
                self.request(f"stopped by {_NAMES[signal.Signals(number)]}")
            if self._busy or any(self._in_flight()):
                notify(f"{self.reason}: waiting up to {AWAITED:.0f} s for the answer in progress; Ctrl-C ends the wait")
                self.limit(AWAITED)
            elif self._in_flight():
                return
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
        """End the current wait after `seconds`."""
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def follow(self, wait: Callable[[], None]) -> None:
        """Stop when `wait` returns, which runs in a thread of its own: the controlling process has stopped."""

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
        """Interrupt the main thread, even during a system call."""
        with self._lock:
            if self._installed and self._main.ident is not None:
                signal.pthread_kill(self._main.ident, signal.SIGTERM)
            return self._installed
