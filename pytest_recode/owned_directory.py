"""Directories of one process that a later run removes if the process was killed. Each has the owner in its name: pid and start time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

PREFIX = "pytest-recode-"  # of directories
LONGEST = 40
"""Bytes of the path of a directory with directories for sockets: the system allows some 100 for the whole path of a socket."""
SHORT = "/tmp"
"""Where directories for sockets are if the path of the usual place is longer."""


def owner() -> str:
    """An id of this process that no later process with the same pid has."""
    return f"{os.getpid()}.{_start_time(os.getpid())}"


def alive(mark: str) -> bool:
    """Whether the process that made this mark is still running."""
    pid, _, rest = mark.partition(".")
    return pid.isdigit() and _start_time(int(pid)) == rest.partition(".")[0]


def make_directory(*, short: bool = False) -> Path:
    """Create a directory that only this user can enter, for the files of this process; its name identifies this process as the owner.

    `short`: for sockets, whose paths the system limits.
    """
    here = not short or len(os.fsencode(tempfile.gettempdir())) <= LONGEST
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner()}.", dir=None if here else SHORT))


def new_socket() -> str:
    """The path of a Unix socket in a new directory that only this user can enter."""
    return str(make_directory(short=True) / "socket")


def _start_time(pid: int) -> str:
    """The start time in clock ticks since boot; "" if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""
