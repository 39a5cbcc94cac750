"""Measures the memory of the processes of one launch together.

Runs in the process that monitors a launch. Called by `monitor.py` as part of the memory limit. Must not count a page twice that
processes share, and must not let the program choose how long it grows unmeasured.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from . import linux_isolation


def past(pids: Callable[[], list[int]], allowed: int) -> bool:
    """Whether these processes together use more than `allowed` bytes.

    The fast sum counts a page that n processes share n times. If it is too large, each page is counted once, which can take
    seconds, so the processes are stopped meanwhile. A process that has ended counts as 0.
    """
    if _sum(pids(), _resident) <= allowed:
        return False
    with _stopped(pids) as stopped:
        return _sum(stopped, _proportional) > allowed


@contextmanager
def _stopped(pids: Callable[[], list[int]]) -> Iterator[list[int]]:
    stopped: set[int] = set()
    try:
        while started := {*pids()} - stopped - {os.getpid()}:  # a stopped process starts no others
            stopped |= started
            linux_isolation.send_signal(started, signal.SIGSTOP)
        yield sorted(stopped)
    finally:
        linux_isolation.send_signal(stopped, signal.SIGCONT)


def _sum(pids: Iterable[int], measure: Any) -> int:
    total = 0
    for pid in pids:
        try:
            total += measure(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


def _resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        fields = file.read().split()
    return int(fields[1]) * linux_isolation.PAGE


def _proportional(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except PermissionError:  # the process is not dumpable
        return _resident(pid)
    return 0
