"""Slots for programs that keep a processor busy, shared by all processes of one user on this machine.

Many episodes may wait for models at the same time, but only so many gradings can run: with more, each of them would take longer than its
time limits allow.
"""

from __future__ import annotations

import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_recode.faults import MachineError
from pytest_recode.records.locks import open_lock, try_acquire

PER_PROCESSOR = 2
"""Slots for each processor."""
_PAUSE = 0.02  # seconds between two looks at the slots


class MachineSlots:
    """Slots for `what`, a valid file name. Every process that names it shares them; the kernel frees those of one that ends.

    Raises `MachineError` if the directory for them belongs to another user.
    """

    def __init__(self, what: str, number: int | None = None) -> None:
        self._number = number or PER_PROCESSOR * len(os.sched_getaffinity(0))
        self._directory = Path(tempfile.gettempdir()) / f"pytest-recode-slots-{os.getuid()}" / what
        self._first = threading.Lock()  # one thread of this process looks at a time

    @contextmanager
    def taken(self, check: Callable[[], None] = lambda: None) -> Iterator[float]:
        """Hold a slot for the block; its value is the seconds that it waited. `check` is called while it waits, and may raise."""
        began, directory = time.monotonic(), self._own_directory()
        while not self._first.acquire(timeout=0.2):
            check()
        try:
            while (slot := self._free(directory)) is None:
                check()
                time.sleep(_PAUSE)
        finally:
            self._first.release()
        try:
            yield time.monotonic() - began
        finally:
            os.close(slot)

    def _free(self, directory: Path) -> int | None:
        """A locked file in `directory`, or None if all slots are taken."""
        for number in range(self._number):
            file = open_lock(directory / str(number), 0o600)
            try:
                locked = try_acquire(file)
            except BaseException:
                os.close(file)
                raise
            if locked:
                return file
            os.close(file)
        return None

    def _own_directory(self) -> Path:
        for path in (self._directory.parent, self._directory):
            path.mkdir(mode=0o700, exist_ok=True)
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                raise MachineError(f"{path} belongs to another user: remove it, or name another directory with TMPDIR")
        return self._directory
