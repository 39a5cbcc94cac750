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
"""Bytes of the path of a directory with directories for sockets: the system allows some 100 for the whole path of a socket."""
_SHORT = "/tmp"


def owner() -> str:
    """An id of this process that no later process with the same pid has."""
    return f"{os.getpid()}.{_start_time(os.getpid())}"


def mark(run: str) -> str:
    return f"{owner()}.{run}"


def alive(mark: str) -> bool:
    """Whether the process that made this mark is still running."""
    pid, _, rest = mark.partition(".")
    return pid.isdigit() and _start_time(int(pid)) == rest.partition(".")[0]


def make_directory(*, short: bool = False) -> Path:
    """Create a directory that only this user can enter, for the files of this process's sandboxes; its name identifies this process as the owner.

    `short`: for sockets, whose paths the system limits.
    """
    here = not short or len(os.fsencode(tempfile.gettempdir())) <= _LONGEST
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner()}.", dir=None if here else _SHORT))


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
    for place in {tempfile.gettempdir(), _SHORT}:
        for directory in Path(place).glob(f"{PREFIX}*"):
            with suppress(FileNotFoundError):  # another run removes it
                name = directory.name.removeprefix(PREFIX)
                if (
                    name.count(".") >= 2
                    and directory.is_dir()
                    and directory.stat().st_uid == os.getuid()
                    and not alive(name)
                ):
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
