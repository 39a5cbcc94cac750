"""Clock: the seconds that count towards an episode's time limit.

Waiting for a person or for another worker does not count, and neither do failed model calls and the pauses before retries. A successful
model call counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What an episode is waiting for. `model` is the name of a model, or "" if it waits for something else."""

    what: str
    model: str = ""


class Clock:
    """A clock whose `clock()` is a monotonic time in seconds that stops during waits.

    One thread enters the waits. A signal handler in that thread may read the clock at any time.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._waited = 0.0
        self._since = 0.0  # start of the current wait
        self._tried = 0.0  # when the latest call was sent
        self._wait: Wait | None = None
        self._queued = False

    def __call__(self) -> float:
        return self._now() - self.waited

    @property
    def waited(self) -> float:
        """Seconds of all waits so far, including the current one."""
        return self._waited + (self._now() - self._since if self._wait else 0.0)

    @property
    def wait(self) -> Wait | None:
        """The current wait, or None."""
        return self._wait

    @property
    def queued(self) -> bool:
        """Whether the current wait is a model call that is known not to be sent yet."""
        return self._wait is not None and self._queued

    @contextmanager
    def stopped(self, wait: Wait) -> Iterator[None]:
        """Do not count the time of this block. A wait within another one is part of it."""
        if self._wait is not None:
            yield
            return
        self._since, self._queued, self._wait = self._now(), False, wait
        try:
            yield
        finally:
            self._waited += self._now() - self._since
            self._wait = None

    @contextmanager
    def asking(self, model: str) -> Iterator[None]:
        """Wrap a model call. If it succeeds, the time of its last try counts."""
        with self.stopped(Wait(what=f"model {model}", model=model)):
            yield
            self._waited -= self._now() - max(self._tried, self._since)

    def enqueued(self) -> None:
        """Called when a model call waits for its turn, before its first try. Some models do not tell."""
        self._queued = True

    def tried(self) -> None:
        """Called before each try of a model call: the time until now was a failed try or a pause, and does not count."""
        self._tried, self._queued = self._now(), False
