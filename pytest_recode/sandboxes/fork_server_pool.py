"""The warm parents (fork servers) of one worker: started on first use, restarted once if killed, limited in number, ended if idle."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event, Lock, Thread

from pytest_recode.faults import SandboxError, UserError
from pytest_recode.sandboxes.shipping import WarmKey
from pytest_recode.sandboxes.warm import LocalConnection, ParentGone, WarmParent
from pytest_recode.task import Limits

MOST = 8
MOST_SECOND = 3
"""Limit of second parents. Each keeps the imports of one repository's tests, some hundred MiB; items of one repository run consecutively."""


IDLE_SECONDS = 60.0
"""Seconds without a launch after which a warm parent is ended: a worker that waits for a model for minutes keeps no processes for that."""


class Parents:
    """The warm parents of one sandbox, started on first use; the least recently used one is closed first.

    `start`: starts a first parent. `directory`: creates the working directory of a launch and returns its path, or returns "".
    """

    def __init__(self, start: Callable[[WarmKey], WarmParent], directory: Callable[[], str] = str) -> None:
        self._start = start
        self._directory = directory
        self._warm: OrderedDict[WarmKey, WarmParent] = OrderedDict()
        self._bases: dict[WarmKey, WarmParent] = {}  # first parent of each second parent
        self._launching: Counter[WarmKey] = Counter()  # threads that have a parent but have not launched yet
        self._used: dict[WarmKey, float] = {}  # time of the latest launch
        self._lock = Lock()
        self._closed = Event()
        self._watching = False

    def launch(self, key: WarmKey, limits: Limits) -> LocalConnection:
        """Launch from a warm parent. Raises `UserError` for a `preload` that cannot be imported, and `SandboxError`."""
        try:
            return self._launch(key, limits)
        except ParentGone:
            self._drop(key)  # it was killed from outside: try once more
        try:
            return self._launch(key, limits)
        except ParentGone as exc:
            self._drop(key)
            raise SandboxError(f"the warm parent of {key.program} ended: {exc}") from exc

    def close_idle(self, now: float) -> None:
        """End the parents without a launch in the last `IDLE_SECONDS` before `now`, a time of `time.monotonic`."""
        with self._lock:
            for key in self._idle(list(self._warm)):
                if now - self._used.get(key, now) >= IDLE_SECONDS:
                    self._close(key)

    def _watch(self) -> None:
        while not self._closed.wait(IDLE_SECONDS / 4):
            self.close_idle(time.monotonic())

    def close(self) -> None:
        self._closed.set()
        for key in sorted(
            self._warm, key=lambda key: not key.preparation
        ):  # second parents first, because a first parent waits for them
            self._drop(key)

    def _launch(self, key: WarmKey, limits: Limits) -> LocalConnection:
        parent = self._get(key, limits)
        try:
            return parent.launch(limits, self._directory())
        except TimeoutError as exc:
            raise SandboxError(f"the warm parent of {key.program} does not answer: {exc}") from exc
        finally:
            with self._lock:
                self._launching[key] -= 1

    def _get(self, key: WarmKey, limits: Limits) -> WarmParent:
        with self._lock:
            if key not in self._warm:
                self._warm[key] = self._second(key, limits) if key.preparation else self._first(key)
            self._warm.move_to_end(key)
            self._used[key] = time.monotonic()
            self._launching[key] += 1
            if not self._watching:
                self._watching = True
                Thread(target=self._watch, name="recode-idle", daemon=True).start()
            return self._warm[key]

    def _first(self, key: WarmKey) -> WarmParent:
        self._make_room(lambda other: not other.preparation, MOST)
        return ready(self._start(key), key)

    def _second(self, key: WarmKey, limits: Limits) -> WarmParent:
        """A second parent, forked from a first one, which is kept as long as the second."""
        self._make_room(lambda other: bool(other.preparation), MOST_SECOND)
        first = replace(key, preparation=b"")
        try:
            return self._prepare(key, first, limits)
        except (ParentGone, SandboxError):
            if first not in self._warm or not self._warm[first].gone():
                raise
        return self._prepare(key, first, limits)  # the first parent was killed from outside: try once more

    def _prepare(self, key: WarmKey, first: WarmKey, limits: Limits) -> WarmParent:
        if first in self._warm and self._warm[first].gone():
            self._close(first)
        if first not in self._warm:
            self._warm[first] = self._first(first)
        self._used[first] = time.monotonic()
        base = self._warm[first]
        parent = ready(base.prepare(key.preparation, limits, self._directory()), key)
        self._bases[key] = base
        return parent

    def _make_room(self, kind: Callable[[WarmKey], bool], most: int) -> None:
        of_kind = [key for key in self._warm if kind(key)]
        for key in self._idle(of_kind)[: max(len(of_kind) + 1 - most, 0)]:
            self._close(key)

    def _idle(self, keys: Sequence[WarmKey]) -> list[WarmKey]:
        """Those of the parents that have no launch, and are not the first parent of another one."""
        needed = {id(base) for base in self._bases.values()}
        parents = [(key, self._warm[key]) for key in keys]
        return [key for key, each in parents if not each.live and not self._launching[key] and id(each) not in needed]

    def _drop(self, key: WarmKey) -> None:
        with self._lock:
            if key in self._warm:
                self._close(key)

    def _close(self, key: WarmKey) -> None:
        self._bases.pop(key, None)
        self._used.pop(key, None)
        self._warm.pop(key).close()


def ready(parent: WarmParent, key: WarmKey) -> WarmParent:
    """Wait for the imports of `parent`. Raises `UserError` if one fails, and `SandboxError` if the parent cannot start."""
    try:
        parent.wait_ready()
    except ImportError as exc:
        parent.close()
        raise UserError(
            f"{key.python} cannot import {exc.name!r}, a module to preload ({exc.msg}): install it "
            f"there ({key.python} -m pip install …), or name an interpreter that has it with --recode-python=PATH"
        ) from exc
    except (ParentGone, TimeoutError) as exc:
        parent.close()
        raise SandboxError(f"{key.python} could not be started in a sandbox: {exc}") from exc
    return parent
