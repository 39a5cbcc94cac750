"""The items that pytest-xdist sends to a worker, for a worker that plays many at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest


class WorkerQueue:
    """Takes items from the queue of pytest-xdist's worker, from which another worker may steal those that are not taken yet.

    pytest-xdist has no public way to run several items of a worker at once (its loop runs one after the other): this uses the same queue, the same
    commands and the same events as its loop does (`xdist/remote.py`, since 3.7).
    """

    def __init__(self, session: pytest.Session, worker: Any, woken: Callable[[], None]) -> None:
        self._session, self._worker = session, worker
        self._end: Any = type(worker).handle_command.__globals__["Marker"].SHUTDOWN
        self.over = False

        def handle(command: Any) -> None:
            worker.handle_command(command)
            woken()

        worker.channel.setcallback(handle, endmarker=self._end)

    def take(self) -> int | None:
        with self._worker.torun.lock() as indices:
            if not indices:
                return None
            index = indices.popleft()
        if index is self._end:
            self.over = True
            return None
        return int(index)

    def next(self) -> int | None:
        with self._worker.torun.lock() as indices:
            return int(indices[0]) if indices and indices[0] is not self._end else None

    def run(self, index: int, nextitem: Any) -> None:
        self._worker.item_index = index
        began = time.perf_counter()
        item = self._session.items[index]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        self._worker.sendevent("runtest_protocol_complete", item_index=index, duration=time.perf_counter() - began)


def usable() -> bool:
    """Whether this pytest-xdist has such a queue."""
    from xdist import remote  # type: ignore[import-untyped]

    return hasattr(remote, "TestQueue")


def worker_queue(session: pytest.Session, woken: Callable[[], None]) -> WorkerQueue:
    """The queue of this worker. `woken` is called, in another thread, when it may have changed."""
    plugins = session.config.pluginmanager.get_plugins()
    worker = next(each for each in plugins if type(each).__name__ == "WorkerInteractor")
    return WorkerQueue(session, worker, woken)
