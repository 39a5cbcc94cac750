"""Stops every process of a command between its turns, and tells whether one has run since.

Runs in the process of a persistent program, which shares its pid namespace with nothing but the commands that it starts. Called by
`command_runner.py`. Must not take a process for stopped that may run: a stopped one can wake itself, by a timer whose signal is SIGCONT. No
process can hide that, because the kernel counts how often each thread was given a CPU.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Optional

from . import linux_isolation

Switches = Mapping[int, int]
"""How often each thread of a command has left a CPU, by its number. Threads that have ended are left out."""

_STOPPED, _ENDED = "T", ("Z", "X")
_SECONDS = 10.0
_TRY_SECONDS = 1.0
_LOOK_SECONDS = 0.005


def stop() -> Optional[Switches]:
    """Stop all processes, and return what `switches` returns from then on if none of them runs; None if one cannot be stopped.

    A parent of `vfork` waits, and cannot be stopped, until its child has started another program, which a stopped one does not. So all go on
    for a moment where it takes too long. One that is traced, and its tracer, are not stopped for certain.
    """
    end = time.monotonic() + _SECONDS
    pause = _LOOK_SECONDS
    while time.monotonic() < end:
        _signal_all(signal.SIGSTOP)
        last = time.monotonic() + _TRY_SECONDS
        before: Optional[Switches] = None
        while time.monotonic() < last:
            now = switches()
            if now is not None and now == before:
                return now  # all were stopped between the two looks, and nothing but one of them could start another
            before = now
            time.sleep(_LOOK_SECONDS)
        _signal_all(signal.SIGCONT)
        pause *= 2
        time.sleep(pause)
    return None


def wake() -> None:
    """Let all processes go on."""
    _signal_all(signal.SIGCONT)


def switches() -> Optional[Switches]:
    """None if a thread is not stopped."""
    counts: dict[int, int] = {}
    for pid in linux_isolation.pids_here():
        if pid != os.getpid() and not _read(pid, counts):
            return None
    return counts


def _read(pid: int, counts: dict[int, int]) -> bool:
    """Add the counts of the threads of a process; whether all of them are stopped, or have ended."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return True
    for name in threads:
        with suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/task/{name}/status", errors="replace") as file:
                lines = dict(line.partition(":")[::2] for line in file)
            state = lines["State"].split()[0]
            if state in _ENDED:
                continue
            if state != _STOPPED:
                return False
            counts[int(name)] = int(lines["voluntary_ctxt_switches"]) + int(lines["nonvoluntary_ctxt_switches"])
    return True


def _signal_all(number: int) -> None:
    """Send a signal to every process of this pid namespace but its first and this one, in one step of the kernel: none can escape by
    starting others."""
    with suppress(ProcessLookupError):  # there is none
        os.kill(-1, number)
