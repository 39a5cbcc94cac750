"""Clock: the seconds that count towards an episode's time limit.

Waiting for a person or for another worker does not count, and neither do failed model calls and the pauses before retries. A successful
model call counts; of several at the same time, each second counts once.
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


@dataclass(slots=True, eq=False)
class AskedModel:
    """A model call in progress. `tried`: when its last try was sent; `queued`: whether it is known not to be sent yet."""

    tried: float
    queued: bool = False


class Clock:
    """A clock whose `clock()` is a monotonic time in seconds that stops during waits.

    One thread enters the waits. A signal handler in that thread may read the clock at any time.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._waited = 0.0
        self._since = 0.0  # start of the current wait
        self._wait: Wait | None = None
        self._asked: list[
            AskedModel
        ] = []  # calls in progress; the last is the one that `enqueued` and `tried` are about
        self._counted: list[tuple[float, float]] = []  # times within the current wait that count, as they ended

    def __call__(self) -> float:
        return self._now() - self.waited

    @property
    def waited(self) -> float:
        """Seconds of all waits so far, including the current one."""
        return self._waited + (self._waiting() if self._wait else 0.0)

    @property
    def wait(self) -> Wait | None:
        """The current wait, or None."""
        return self._wait

    @property
    def queued(self) -> bool:
        """Whether the current wait is a model call that is known not to be sent yet."""
        return self._wait is not None and bool(self._asked) and all(call.queued for call in self._asked)

    @contextmanager
    def stopped(self, wait: Wait) -> Iterator[None]:
        """Do not count the time of this block. A wait within another one is part of it."""
        if self._wait is not None:
            yield
            return
        self._begin(wait)
        try:
            yield
        finally:
            self._finish()

    @contextmanager
    def asking(self, model: str) -> Iterator[None]:
        """Wrap a model call. If it succeeds, the time of its last try counts."""
        asked = self.ask(model)
        try:
            yield
        except BaseException:
            self.end(asked, counts=False)
            raise
        self.end(asked, counts=True)

    def ask(self, model: str) -> AskedModel:
        """Begin a model call, which may be one of several. `end` ends it."""
        if self._wait is None:
            self._begin(Wait(what=f"model {model}", model=model))
        asked = AskedModel(self._now())
        self._asked.append(asked)
        return asked

    def end(self, asked: AskedModel, *, counts: bool) -> None:
        """End a model call. `counts`: whether the time of its last try counts."""
        self._asked.remove(asked)
        if counts:
            self._counted.append((asked.tried, self._now()))
        if not self._asked and self._wait is not None and self._wait.model:
            self._finish()

    @contextmanager
    def about(self, asked: AskedModel) -> Iterator[None]:
        """Let `enqueued` and `tried` be about one of several calls."""
        self._asked.remove(asked)
        self._asked.append(asked)
        yield

    def enqueued(self) -> None:
        """Called when a model call waits for its turn, before its first try. Some models do not tell."""
        if self._asked:
            self._asked[-1].queued = True

    def tried(self) -> None:
        """Called before each try of a model call: the time until now was a failed try or a pause, and does not count."""
        if self._asked:
            self._asked[-1].tried, self._asked[-1].queued = self._now(), False

    def _begin(self, wait: Wait) -> None:
        self._since, self._wait = self._now(), wait

    def _finish(self) -> None:
        self._waited += self._waiting()
        self._wait, self._counted = None, []

    def _waiting(self) -> float:
        """Seconds of the current wait that do not count."""
        counted, until = 0.0, self._since
        for began, ended in sorted(self._counted):
            counted += max(ended - max(began, until), 0.0)
            until = max(until, ended)
        return self._now() - self._since - counted
