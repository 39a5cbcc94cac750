"""How long the processes of one launch had to wait because others used the CPUs: time for which a time limit must not count.

Runs in the process that monitors a launch. Called by `monitor.py` when the host asks. Must not let a program lengthen this time by
what it does itself, or it could turn its time-outs into faults of the machine.

A thread that waits in the run queue for `delay` seconds waits for others for at least `delay` less all CPU time that the other threads
of its launch have used meanwhile, on however many CPUs. So `delay + run` of a thread, less the CPU time of the whole launch, is a lower bound.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple, Optional

_NORMAL = 0  # SCHED_OTHER


class _Thread(NamedTuple):
    run: float
    delay: float
    fair: bool  # whether it has the share of any other program: a program may give its share away, and not take it back


def seconds(pids: Callable[[], list[int]], first: Optional[int], used: Callable[[], Optional[float]]) -> float:
    """The longest time that a living thread of these processes had to wait for others; 0.0 where that is unknown.

    `first`: the number of the first process in a pid namespace of its own; None: without one. `used`: CPU seconds of the control
    group of the launch, with processes that have ended, or None. Without it, the CPU time of ended ones cannot be known:
    then the answer is 0.0 if there were any.
    """
    waited = [thread.delay + thread.run for thread in _threads(pids()) if thread.fair]
    if not waited:
        return 0.0
    living = list(_threads(pids()))  # after the delays, so that the difference is not too large
    own = sum(thread.run for thread in living)
    counted = used()
    if counted is not None and counted >= own / 2:  # a kernel may have refused the group to the program
        own = max(own, counted)
    elif first is not None and _last_pid() - first + 1 != len(living):
        return 0.0
    return max(max(waited) - own, 0.0)


def _threads(pids: list[int]) -> Iterator[_Thread]:
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    for pid in pids:
        with suppress(OSError):  # it has ended
            for number in os.listdir(f"/proc/{pid}/task"):
                with suppress(OSError):  # this thread has, or the kernel keeps no such figures
                    yield _thread(f"/proc/{pid}/task/{number}", usual)


def _thread(directory: str, usual: int) -> _Thread:
    with open(f"{directory}/schedstat", "rb") as file:
        run, delay = (int(field) / 1e9 for field in file.read().split()[:2])
    with open(f"{directory}/stat", "rb") as file:  # with the thread's name, which may be any bytes
        fields = file.read().rpartition(b")")[2].split()
    return _Thread(run, delay, int(fields[16]) <= usual and int(fields[38]) == _NORMAL)


def _last_pid() -> int:
    """The number of the process or thread that was started last in this pid namespace."""
    with open("/proc/loadavg") as file:
        return int(file.read().split()[-1])
