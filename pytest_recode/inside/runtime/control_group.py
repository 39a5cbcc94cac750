"""The control group of one launch, which the host has made (`sandboxes/control_groups.py`), by its open files.

Runs in every process of a launch until untrusted code starts. Called by `fork_loop.py`, `fork_server.py`, `launch.py` and `monitor.py`. Only the
payload may join: the process that monitors it must not be killed in its place.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Optional, Tuple

_LAG_SECONDS = 0.2


class JoinedGroup(NamedTuple):
    """Open files of the launch's control group. `join` writes to `joins`; the others are None if there is no such file.

    `kills`: counts the processes killed for memory; `cpu`: the CPU time of all processes.
    """

    joins: Tuple[int, ...]
    kills: Optional[int] = None
    cpu: Optional[int] = None
    with_monitor: bool = False  # whether the process that monitors the launch is in it, too

    @classmethod
    def of(cls, files: Sequence[int], counts: Sequence[str]) -> JoinedGroup:
        """`counts`: the fields of the first of the `files`."""
        numbers = {name: files[n] for n, name in enumerate(counts)}
        return cls(tuple(files[len(counts) :]), kills=numbers.get("kills"), cpu=numbers.get("cpu"))

    def files(self) -> list[int]:
        return [*self.joins, *(fd for fd in (self.kills, self.cpu) if fd is not None)]

    def join(self) -> None:
        """Move this process into the group. A kernel before 5.16 may refuse that to a process of another user: then the group limits
        nothing, and `watch` alone does."""
        for fd in self.joins:
            try:
                os.write(fd, b"0")
            except PermissionError:
                continue

    def killed(self) -> int:
        """How many processes of the group the kernel has killed for memory."""
        if self.kills is None:
            return 0
        lines = [line.split() for line in os.pread(self.kills, 4096, 0).splitlines()]
        return next((int(line[1]) for line in lines if line[0] == b"oom_kill"), 0)

    def killed_since(self, before: int, status: int = -signal.SIGKILL) -> bool:
        """Whether `killed` is more than it was. `status`: of a process that has just ended, as in `subprocess`; the kernel counts a moment after
        its signal."""
        deadline = time.monotonic() + (_LAG_SECONDS if status == -signal.SIGKILL else 0.0)
        while self.kills is not None:
            if self.killed() > before:
                return True
            if time.monotonic() >= deadline:
                break
            time.sleep(0.01)
        return False

    def counting_kills(self, copied: Callable[[int], int]) -> JoinedGroup:
        """The group with a `copied` descriptor of what counts kills, and no other: for a program that must not close it."""
        return JoinedGroup((), kills=None if self.kills is None else copied(self.kills))

    def cpu_seconds(self) -> Optional[float]:
        """The CPU time of the group without the monitor's: nanoseconds in cpuacct.usage of version 1, microseconds in cpu.stat of version 2."""
        if self.cpu is None:
            return None
        first = os.pread(self.cpu, 4096, 0).split(b"\n")[0].split()
        seconds = int(first[-1]) / (1e6 if first[0] == b"usage_usec" else 1e9)
        return seconds - time.process_time() if self.with_monitor else seconds


NONE = JoinedGroup(())
