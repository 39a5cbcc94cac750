"""The control group of one launch, which the host has made (`sandboxes/control_groups.py`), by its open files.

Runs in every process of a launch until untrusted code starts. Called by `fork_loop.py`, `fork_server.py` and `launch.py`. Only the
payload may join: the process that monitors it must not be killed in its place.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, Optional, Tuple


class Group(NamedTuple):
    """Open files of the launch's control group. `kills`: counts the processes killed for memory, or None; `joins`: `join` writes to these."""

    kills: Optional[int]
    joins: Tuple[int, ...]

    @classmethod
    def of(cls, files: Sequence[int], counts_kills: bool) -> Group:
        return cls(files[0], tuple(files[1:])) if counts_kills else cls(None, tuple(files))

    def files(self) -> list[int]:
        return [*self.joins, *([] if self.kills is None else [self.kills])]

    def join(self) -> None:
        """Move this process into the group. A kernel before 5.16 may refuse that to a process of another user: then the group limits
        nothing, and `watch` alone does."""
        for fd in self.joins:
            try:
                os.write(fd, b"0")
            except PermissionError:
                continue

    def has_killed(self) -> bool:
        """Whether the kernel has killed a process of the group for memory."""
        if self.kills is None:
            return False
        lines = [line.split() for line in os.pread(self.kills, 4096, 0).splitlines()]
        return any(line[0] == b"oom_kill" and line[1] != b"0" for line in lines)


NONE = Group(None, ())
