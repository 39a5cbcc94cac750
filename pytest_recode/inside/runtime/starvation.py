"""How long the processes of one launch had to wait because others used the CPUs: time for which a time limit must not count.

Runs in the process that monitors a launch, which measures it again and again, because only the host knows when a case begins.
Called by `monitor.py`. Must not let a program lengthen this time by what it does itself, or it could turn its time-outs into faults
of the machine.

A thread that waits in the run queue for `delay` seconds waits for others for at least `delay` less all CPU time that the other threads
of its launch have used meanwhile, on however many CPUs. So `delay + run` of a thread, less the CPU time of the whole launch, is a lower bound.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, Optional

_NORMAL = 0  # SCHED_OTHER
_EVERY = 0.04  # seconds: the monitor looks a little less often
_SHARE = 0.02  # of its time may the monitor measure
_MOST = 128  # samples; then older ones are thinned
_APART = 0.2  # of its age, by which an older sample is at most apart from the next


class Sample(NamedTuple):
    """A measurement. `at`: of `time.monotonic`; all others: seconds since the launch.

    `waited`: how long one of its threads had to wait for others, at least. `hidden`: the same of threads that do not count now, but
    might later. `used`: CPU time of the launch, -1.0 where no control group counts it.
    """

    at: float
    waited: float
    hidden: float
    used: float


def waited(samples: Sequence[Sample], since: float) -> float:
    """The seconds that a program had to wait for others after `since`, at least."""
    first = next((each for each in samples if each.at >= since), None)
    return 0.0 if first is None else max(samples[-1].waited - max(first.waited, first.hidden), 0.0)


def used(samples: Sequence[Sample], since: float) -> Optional[float]:
    """The CPU seconds of a program after `since`, at most; None where that is unknown."""
    before = [each.used for each in samples if each.at <= since] or [0.0]
    if not samples or min(before[-1], samples[-1].used) < 0:
        return None
    return samples[-1].used - before[-1]


class SampleHistory:
    """The samples of one launch: the newest ones densely, older ones apart by at most a fifth of their age."""

    def __init__(self, measure: Callable[[], Optional[Sample]]) -> None:
        self._measure = measure
        self._samples: list[Sample] = []
        self._next = 0.0

    def look(self) -> None:
        """Measure if it is time to."""
        if time.monotonic() >= self._next:
            self.samples()

    def samples(self) -> list[Sample]:
        """Measure, and return all samples. What cannot be measured is left out: the program decides what stands in its part of /proc."""
        began = time.process_time()  # not the time in which the monitor has to wait
        with suppress(Exception):
            sample = self._measure()
            if sample is not None:
                self._samples.append(sample)
        self._next = time.monotonic() + max(_EVERY, (time.process_time() - began) / _SHARE)
        if len(self._samples) > _MOST:
            self._thin()
        return self._samples

    def _thin(self) -> None:
        samples, now = self._samples[-1:], self._samples[-1].at
        for number in range(len(self._samples) - 2, 0, -1):
            older = self._samples[number - 1]
            # Without this sample, its neighbours would be too far apart
            if samples[-1].at - older.at > max(_EVERY, _APART * (now - older.at)):
                samples.append(self._samples[number])
        self._samples = [self._samples[0], *reversed(samples)]


class _Thread(NamedTuple):
    run: float
    delay: float
    fair: bool  # whether it has the share of any other program: a program may give its share away, and not take it back


def measure(
    pids: Callable[[], list[int]], first: Optional[int], counted: Callable[[], Optional[float]]
) -> Optional[Sample]:
    """Measure the launch of these processes; None where nothing can be said.

    `first`: the number of the first process in a pid namespace of its own; None: without one. `counted`: CPU seconds of the control
    group of the launch, with processes that have ended, or None. Without it, the CPU time of ended ones cannot be known:
    then nothing can be said if there were any.
    """
    threads = list(_threads(pids()))
    group = counted()  # after the delays, so that the difference is not too large
    if group is None or group < sum(thread.run for thread in threads) / 2:
        group = None  # a kernel may have refused it to the program
        living = list(_threads(pids()))
        if first is not None and _last_pid() - first + 1 != len(living):
            return None
        own = sum(thread.run for thread in living)
    else:
        own = max(group, sum(thread.run for thread in threads))
    delays = [(thread.fair, thread.delay + thread.run - own) for thread in threads]
    return Sample(
        time.monotonic(),
        max([seconds for fair, seconds in delays if fair] + [0.0]),
        max([seconds for fair, seconds in delays if not fair] + [0.0]),
        -1.0 if group is None else own,
    )


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
