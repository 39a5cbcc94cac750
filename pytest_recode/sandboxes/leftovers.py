"""What a killed run of this tool left on this machine, told by the mark of its owner: run, pid and start time."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

MARK = "PYTEST_RECODE_OWNER"  # in the environment of warm parents
PREFIX = "pytest-recode-"  # of directories


def owner() -> str:
    """This process, so that no later one with its pid is taken for it."""
    return f"{os.getpid()}.{_start_time(os.getpid())}"


def mark(run: str) -> str:
    return f"{owner()}.{run}"


def alive(mark: str) -> bool:
    """Does the process that made this mark still run?"""
    pid, _, rest = mark.partition(".")
    return pid.isdigit() and _start_time(int(pid)) == rest.partition(".")[0]


def make_directory() -> Path:
    """A directory for what this process's sandboxes write, by its name this process's."""
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner()}."))


def reap_processes() -> None:
    wanted = f"{MARK}=".encode()
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            variables = (directory / "environ").read_bytes().split(b"\0")
        except OSError:  # gone, or not this user's
            continue
        for variable in variables:
            if variable.startswith(wanted) and not alive(variable[len(wanted) :].decode("utf-8", "replace")):
                _kill(int(directory.name))


def reap_directories() -> None:
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if directory.is_dir() and directory.stat().st_uid == os.getuid():
            name = directory.name.removeprefix(PREFIX)
            if name.count(".") >= 2 and not alive(name):
                shutil.rmtree(directory, ignore_errors=True)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _start_time(pid: int) -> str:
    """In clock ticks since the machine started; "" where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
