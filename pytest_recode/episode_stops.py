"""The stops of one of several episodes that are in flight in a process, each in a thread of its own.

No signal reaches such a thread, and nothing can interrupt its system calls. So its waits end early, and it looks here: the waits for a sandbox
every `SLICE` seconds, and the wait for a model's answer when `end` closes its connection.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from pytest_recode.faults import Stopped
from pytest_recode.stopping import Stops


class CallStops(Protocol):
    """What a ledger asks before and after a request: `Stops`, or those of one episode."""

    def enter(self) -> None:
        """Call it before a request. Raises `Stopped`, and what the check of the run's directory raises."""

    def settle(self) -> None:
        """Call it when the answer is recorded, or if there is none. Raises `Stopped`."""

    def settled(self) -> None: ...

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        """Wrap the wait for an answer. `wake` ends it, in another thread."""


class EpisodeStops:
    """`run`: the stops of the process. `end` is called by the thread that watches the episode; the others by the episode's own."""

    def __init__(self, run: Stops) -> None:
        self._run = run
        self._cause: BaseException | None = None
        self._wakes: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self.busy = False
        """Whether the episode waits for an answer that is paid for."""

    def end(self, cause: BaseException) -> None:
        """Let the episode raise `cause` as soon as it looks; the first one counts."""
        with self._lock:
            if self._cause is not None:
                return
            self._cause = cause
            for wake in self._wakes:
                wake()

    def check(self) -> None:
        """Raise what ends the episode, if anything does."""
        if self._cause is not None:
            raise self._cause

    def enter(self) -> None:
        self.check()
        self._run.check()
        self.busy = True

    def settle(self) -> None:
        self.settled()
        self.check()
        if self._run.reason:
            raise Stopped(self._run.reason)

    def settled(self) -> None:
        self.busy = False

    @contextmanager
    def waiting(self, wake: Callable[[], None]) -> Iterator[None]:
        """Wrap a wait that `wake`, called in another thread, ends."""
        with self._lock:
            self._wakes.append(wake)
            if self._cause is not None:
                wake()
        try:
            yield
        finally:
            with self._lock:
                self._wakes.remove(wake)
