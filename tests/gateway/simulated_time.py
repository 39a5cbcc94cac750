"""An event loop whose time passes only while nothing else is to be done: hours take no time, and no result depends on the machine."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from typing import Any, TypeVar

A = TypeVar("A")


class Deadlock(AssertionError):
    """Nothing is to be done, and nothing will ever be."""


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self._simulated = 0.0

    def time(self) -> float:
        return self._simulated

    def _run_once(self) -> None:
        if not self._ready and not self._stopping:  # type: ignore[attr-defined]
            scheduled = self._scheduled  # type: ignore[attr-defined]
            while scheduled and scheduled[0]._cancelled:
                heapq.heappop(scheduled)._scheduled = False
                self._timer_cancelled_count -= 1  # type: ignore[attr-defined]
            if not scheduled:
                raise Deadlock
            self._simulated = max(self._simulated, scheduled[0]._when)
        super()._run_once()  # type: ignore[misc]


def run(work: Coroutine[Any, Any, A]) -> A:
    """The result of `work` in a loop that starts at time 0. Raises `Deadlock`."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        try:
            return loop.run_until_complete(task)
        except Deadlock:
            task.cancel()
            loop._ready.clear()  # type: ignore[attr-defined]
            raise
