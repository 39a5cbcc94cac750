"""The warm parents (fork servers) of one sandbox: started on first use, restarted once if killed, limited in number, ended if idle.

Threads launch at the same time: while one waits for the imports of a parent, others launch from theirs.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread

from pytest_recode.faults import SandboxError, UserError, machine_error
from pytest_recode.sandboxes.local_connection import LocalConnection
from pytest_recode.sandboxes.shipping import WarmKey
from pytest_recode.sandboxes.warm import ParentGone, WarmParent
from pytest_recode.task import Limits

MOST = 8
MOST_SECOND = 3
"""Limit of second parents. Each keeps the imports of one repository's tests, some hundred MiB; items of one repository run consecutively."""


IDLE_SECONDS = 60.0
"""Seconds without a launch after which a warm parent is ended: a worker that waits for a model for minutes keeps no processes for that."""


@dataclass(slots=True)
class _Starting:
    """Threads that wait for a parent, or start it: the one that holds `lock` starts it."""

    lock: Lock = field(default_factory=Lock)
    threads: int = 0


class Parents:
    """The warm parents of one sandbox, started on first use; the least recently used one is closed first.

    `start`: starts a first parent. `directory`: creates the working directory of a launch and returns its path, or returns "".
    `workers`: how many launch at the same time; more of them need more parents.
    """

    def __init__(
        self, start: Callable[[WarmKey], WarmParent], directory: Callable[[], str] = str, *, workers: int = 1
    ) -> None:
        self._start = start
        self._directory = directory
        self._most, self._most_second = max(MOST, 2 * workers), max(MOST_SECOND, workers)
        self._warm: OrderedDict[WarmKey, WarmParent] = OrderedDict()
        self._bases: dict[WarmKey, WarmParent] = {}  # first parent of each second parent
        self._launching: Counter[WarmKey] = Counter()  # threads that have a parent but have not launched yet
        self._starting: dict[WarmKey, _Starting] = {}
        self._used: dict[WarmKey, float] = {}  # time of the latest launch
        self._lock = Lock()  # of all above; never held while a parent is started or launches
        self._closed = Event()
        self._watching = False

    def launch(self, key: WarmKey, limits: Limits) -> LocalConnection:
        """Launch from a warm parent. Raises `UserError` for a `preload` that cannot be imported, and `SandboxError`."""
        try:
            try:
                return self._launch(key, limits)
            except ParentGone:
                pass  # it was killed from outside: try once more
            try:
                return self._launch(key, limits)
            except ParentGone as exc:
                raise SandboxError(f"the warm parent of {key.program} ended: {exc}") from exc
        except OSError as exc:
            if lacking := machine_error(exc, f"{key.program} cannot be launched"):
                raise lacking from exc
            raise

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
        """End all parents; nothing is launched any more."""
        with self._lock:
            self._closed.set()
            # second parents first, because a first parent waits for them
            for key in sorted(self._warm, key=lambda key: not key.preparation):
                self._close(key)

    def _launch(self, key: WarmKey, limits: Limits) -> LocalConnection:
        parent = self._get(key, limits)
        try:
            return parent.launch(limits, self._directory())
        except ParentGone:
            self._drop(key, parent)
            raise
        except TimeoutError as exc:
            raise SandboxError(f"the warm parent of {key.program} does not answer: {exc}") from exc
        finally:
            self._launched(key)

    def _get(self, key: WarmKey, limits: Limits) -> WarmParent:
        """The parent, counted in `_launching`. Starts it if there is none; other threads that want it wait for that."""
        with self._alone(key):
            with self._lock:
                self._check_open()
                if key in self._warm:
                    return self._in_use(key)
            parent = self._second(key, limits) if key.preparation else self._first(key)
            with self._lock:
                self._warm[key] = parent
                if self._closed.is_set():  # meanwhile
                    self._close(key)
                self._check_open()
                return self._in_use(key)

    @contextmanager
    def _alone(self, key: WarmKey) -> Iterator[None]:
        """Let one thread at a time start the parent."""
        with self._lock:
            starting = self._starting.setdefault(key, _Starting())
            starting.threads += 1
        try:
            with starting.lock:
                yield
        finally:
            with self._lock:
                starting.threads -= 1
                if not starting.threads:
                    del self._starting[key]

    def _launched(self, key: WarmKey) -> None:
        """A thread that has the parent needs it no longer. No key is kept without need: those of shared judges have whole repositories."""
        with self._lock:
            self._launching[key] -= 1
            if not self._launching[key]:
                del self._launching[key]

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise SandboxError("the sandbox is closed: nothing is launched any more")

    def _in_use(self, key: WarmKey) -> WarmParent:
        self._warm.move_to_end(key)
        self._used[key] = time.monotonic()
        self._launching[key] += 1
        if not self._watching:
            self._watching = True
            Thread(target=self._watch, name="recode-idle", daemon=True).start()
        return self._warm[key]

    def _first(self, key: WarmKey) -> WarmParent:
        with self._lock:
            self._make_room(lambda other: not other.preparation, self._most)
        return ready(self._start(key), key)

    def _second(self, key: WarmKey, limits: Limits) -> WarmParent:
        """A second parent, forked from a first one, which is kept as long as the second."""
        with self._lock:
            self._make_room(lambda other: bool(other.preparation), self._most_second)
        first = replace(key, preparation=b"")
        try:
            return self._prepare(key, first, limits)
        except ParentGone:
            return self._prepare(key, first, limits)  # the first parent was killed from outside: try once more

    def _prepare(self, key: WarmKey, first: WarmKey, limits: Limits) -> WarmParent:
        """Raises `ParentGone` if the first parent is lost, and `SandboxError` if the second one is."""
        self._drop_gone(first)
        base = self._get(first, limits)
        try:
            parent = ready(base.prepare(key.preparation, limits, self._directory()), key)
            with self._lock:
                self._bases[key] = base
            return parent
        except (ParentGone, SandboxError) as exc:
            if not base.gone():
                raise
            self._drop(first, base)
            raise ParentGone(str(exc)) from exc
        finally:
            self._launched(first)

    def _make_room(self, kind: Callable[[WarmKey], bool], most: int) -> None:
        of_kind = [key for key in self._warm if kind(key)]
        for key in self._idle(of_kind)[: max(len(of_kind) + 1 - most, 0)]:
            self._close(key)

    def _idle(self, keys: Sequence[WarmKey]) -> list[WarmKey]:
        """Those of the parents that have no launch, and are not the first parent of another one."""
        needed = {id(base) for base in self._bases.values()}
        parents = [(key, self._warm[key]) for key in keys]
        return [key for key, each in parents if not each.live and not self._launching[key] and id(each) not in needed]

    def _drop(self, key: WarmKey, parent: WarmParent) -> None:
        """Close `parent`, unless another thread has done so and started a new one."""
        with self._lock:
            if self._warm.get(key) is parent:
                self._close(key)

    def _drop_gone(self, key: WarmKey) -> None:
        """Close the parent if it has ended."""
        with self._lock:
            if key in self._warm and self._warm[key].gone():
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
        what = (
            "ended in a sandbox while it imported what the tests need"
            if key.preparation
            else "could not be started in a sandbox"
        )
        raise SandboxError(f"{key.python} {what}: {exc}") from exc
    return parent
