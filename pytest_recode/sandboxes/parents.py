"""The warm parents of one worker: started when first needed, once more where killed, bounded in number."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from pytest_recode.faults import SandboxError, UserError
from pytest_recode.sandboxes.shipping import WarmKey
from pytest_recode.sandboxes.warm import LocalConnection, ParentGone, WarmParent

MOST = 8


class Parents:
    """The warm parents of one sandbox, started when first needed; the least recently used goes first."""

    def __init__(self, start: Callable[[WarmKey], WarmParent]) -> None:
        self._start = start
        self._warm: OrderedDict[WarmKey, WarmParent] = OrderedDict()
        self._lock = Lock()

    def launch(self, key: WarmKey, launch: Callable[[WarmParent], LocalConnection]) -> LocalConnection:
        """Raises `UserError` for a `preload` that cannot be imported, `SandboxError`."""
        try:
            return launch(self._get(key))
        except ParentGone:
            self._drop(key)  # it was killed from outside: once more
        try:
            return launch(self._get(key))
        except ParentGone as exc:
            self._drop(key)
            raise SandboxError(f"the warm parent of {key.program} ended: {exc}") from exc

    def close(self) -> None:
        while self._warm:
            self._warm.popitem()[1].close()

    def _get(self, key: WarmKey) -> WarmParent:
        with self._lock:
            if key not in self._warm:
                parent = ready(self._start(key), key)
                idle = [other for other, its in self._warm.items() if its.live == 0]
                for other in idle[: max(len(self._warm) + 1 - MOST, 0)]:
                    self._warm.pop(other).close()
                self._warm[key] = parent
            self._warm.move_to_end(key)
            return self._warm[key]

    def _drop(self, key: WarmKey) -> None:
        with self._lock:
            if key in self._warm:
                self._warm.pop(key).close()


def ready(parent: WarmParent, key: WarmKey) -> WarmParent:
    """Wait for its imports. Raises `UserError` for one that fails, `SandboxError` where it cannot start."""
    try:
        parent.wait_ready()
    except ImportError as exc:
        parent.close()
        raise UserError(
            f"{key.python} cannot import {exc.name!r}, which is to be loaded before the task's code ({exc.msg}): install it "
            f"there ({key.python} -m pip install …), or name an interpreter that has it with --recode-python=PATH"
        ) from exc
    except (ParentGone, TimeoutError) as exc:
        parent.close()
        raise SandboxError(f"{key.python} could not be started in a sandbox: {exc}") from exc
    return parent
