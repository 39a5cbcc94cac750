"""Find and remove processes and directories of killed runs. They are marked with their owner: run, pid and start time."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

from pytest_recode.inside.runtime import removal

MARK = "PYTEST_RECODE_OWNER"  # in the environment of warm parents
PREFIX = "pytest-recode-"  # of directories
_LONGEST = 40
"""Bytes of the path of a directory for sockets: the system allows some 100 for the whole path of a socket."""


def owner() -> str:
    """An id of this process that no later process with the same pid has."""
    return f"{os.getpid()}.{_start_time(os.getpid())}"


def mark(run: str) -> str:
    return f"{owner()}.{run}"


def alive(mark: str) -> bool:
    """Whether the process that made this mark is still running."""
    pid, _, rest = mark.partition(".")
    return pid.isdigit() and _start_time(int(pid)) == rest.partition(".")[0]


def make_directory(parent: str | None = None) -> Path:
    """Create a directory for the files of this process's sandboxes; its name identifies this process as the owner.

    `parent`: None is the directory for temporary files.
    """
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner()}.", dir=parent))


def make_socket_directory() -> Path:
    """As `make_directory`, for a Unix socket, whose path must be short."""
    return make_directory("/tmp" if len(os.fsencode(tempfile.gettempdir())) > _LONGEST else None)


def reap_processes() -> None:
    wanted = f"{MARK}=".encode()
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            variables = (directory / "environ").read_bytes().split(b"\0")
        except OSError:  # ended, or of another user
            continue
        for variable in variables:
            if variable.startswith(wanted) and not alive(variable[len(wanted) :].decode("utf-8", "replace")):
                _kill(int(directory.name))


def reap_directories() -> None:
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if directory.is_dir() and directory.stat().st_uid == os.getuid():
            name = directory.name.removeprefix(PREFIX)
            if name.count(".") >= 2 and not alive(name):
                removal.remove(str(directory))


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _start_time(pid: int) -> str:
    """The start time in clock ticks since boot; "" if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
