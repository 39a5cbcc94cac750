"""Find and remove processes and directories of killed runs. They are marked with their owner: run, pid and start time."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

from pytest_recode.inside.runtime import removal
from pytest_recode.owned_directory import PREFIX, SHORT, alive, owner

MARK = "PYTEST_RECODE_OWNER"  # in the environment of warm parents


def mark(run: str) -> str:
    return f"{owner()}.{_pid_namespace()}.{run}"


def reap_processes() -> None:
    """End the processes whose owner has ended. Those of an owner in another pid namespace, such as that of a container, have other numbers there."""
    prefix, here = f"{MARK}=".encode(), _pid_namespace()
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            variables = (directory / "environ").read_bytes().split(b"\0")
        except OSError:  # ended, or of another user
            continue
        for variable in variables:
            if not variable.startswith(prefix):
                continue
            value = variable[len(prefix) :].decode("utf-8", "replace")
            if value.split(".")[2:3] == [here] and not alive(value):
                _kill(int(directory.name))


def reap_directories() -> None:
    for place in {tempfile.gettempdir(), SHORT}:
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


def _pid_namespace() -> str:
    """A number that only processes in this process's pid namespace get."""
    return str(Path("/proc/self/ns/pid").stat().st_ino)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
