"""Clock: the seconds that count against an episode's time limit.

Time in which the episode waits for somebody else does not count: a person, another worker, a provider that is asked again.
The time of a model call that succeeds does count: the model works in it. Failed tries and the pauses between tries do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What an episode waits for at a moment. `model` is the name of a model, "" where it waits for something else."""

    what: str
    model: str = ""


class Clock:
    """`clock()` is a monotonic time in seconds that stands still during a wait.

    One thread enters the waits. A signal handler in that thread may read the clock at any time.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._waited = 0.0
        self._since = 0.0  # when the wait that is under way began
        self._tried = 0.0  # when the latest call was sent
        self._wait: Wait | None = None

    def __call__(self) -> float:
        return self._now() - self.waited

    @property
    def waited(self) -> float:
        """Seconds of all waits so far, the one under way included."""
        return self._waited + (self._now() - self._since if self._wait else 0.0)

    @property
    def wait(self) -> Wait | None:
        """What is waited for now."""
        return self._wait

    @contextmanager
    def stopped(self, wait: Wait) -> Iterator[None]:
        """The time inside does not count. A wait within another one is part of that one."""
        if self._wait is not None:
            yield
            return
        self._since, self._wait = self._now(), wait
        try:
            yield
        finally:
            self._waited += self._now() - self._since
            self._wait = None

    @contextmanager
    def asking(self, model: str) -> Iterator[None]:
        """Around a model's answer: where it comes, the time since it was asked for the last time counts."""
        with self.stopped(Wait(what=f"model {model}", model=model)):
            yield
            self._waited -= self._now() - max(self._tried, self._since)

    def tried(self) -> None:
        """A call is about to be sent: what was waited for until now was a failed try, or a pause."""
        self._tried = self._now()
