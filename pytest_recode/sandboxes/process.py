"""The process sandbox: limits without isolation. Used only if the user asks for it, or if the run executes only this project's code.

It uses the same warm parents as bubblewrap, without namespaces: a program can access the files, the network and the processes of this
machine as the user who runs pytest. If that is root, each launch has an unprivileged user of its own (`unprivileged_users.py`), because
root could end every process of the machine. It does have an environment without inherited variables, a directory of its own, and limits of
memory, processes, file size and descriptors, and all its processes end with it.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import threading
from pathlib import Path

from pytest_recode.faults import MACHINE_STEPS, MachineError, SandboxError
from pytest_recode.inside.runtime import removal
from pytest_recode.owned_directory import make_directory
from pytest_recode.sandboxes import Connection, Program, SandboxContext, SandboxKind, control_groups
from pytest_recode.sandboxes.fork_server_pool import Parents
from pytest_recode.sandboxes.interpreters import environment_variables, interpreter, refuse_images
from pytest_recode.sandboxes.leftovers import MARK, mark, reap_directories, reap_processes
from pytest_recode.sandboxes.shipping import WarmKey
from pytest_recode.sandboxes.unprivileged_users import problem, users
from pytest_recode.sandboxes.warm import WarmParent, start_parent
from pytest_recode.task import Environment, Limits


class Process:
    """A `Sandbox` without isolation."""

    name = "process"
    isolation = "process"
    host = ""
    memory_limit = property(lambda _: control_groups.memory_limit())

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._parents = Parents(self._start, lambda: tempfile.mkdtemp(dir=self._home()), workers=context.workers)
        self._directory: Path | None = None
        self._making = threading.Lock()
        self._closed = False

    def ready(self, environment: Environment) -> None:
        refuse_images(environment, self.name)
        interpreter(environment.python or self._context.python)

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        key = WarmKey.of(program, environment, environment.python or self._context.python)
        check_room(Path(tempfile.gettempdir()))
        return self._parents.launch(key, limits)

    def close(self) -> None:
        self._parents.close()
        control_groups.close()
        with self._making:
            self._closed = True
            if self._directory is not None:
                removal.remove(str(self._directory))
                self._directory = None

    def _home(self) -> Path:
        with self._making:
            if self._closed:
                raise SandboxError("the sandbox is closed: nothing is launched any more")
            if self._directory is None:
                self._directory = make_directory()
                self._directory.chmod(0o711)  # a launch's user enters the directory of the launch
            return self._directory

    def _start(self, key: WarmKey) -> WarmParent:
        python = interpreter(key.python)
        marked = {MARK: mark(self._context.run)} if self._context.run else {}
        env = {**environment_variables(python, "/nonexistent"), **marked}
        return start_parent(
            [str(python.executable)], key, mode="plain", env=env, common_limits={"users": users(python)}
        )


ROOM = 16 << 20
"""Bytes that must be free for the files of a launch, which are on the disk of TMPDIR: a program that cannot write them ends without a word."""


def check_room(place: Path) -> None:
    """Raise `MachineError` if the disk of `place` is full."""
    disk = os.statvfs(place)
    free = disk.f_bavail * disk.f_frsize
    if disk.f_blocks and free < ROOM:
        raise MachineError(
            f"{place} is full ({free >> 10} KiB are free, and the process sandbox needs {ROOM >> 10} for its files):"
            f" {MACHINE_STEPS[errno.ENOSPC]}"
        )


def check(context: SandboxContext) -> str | None:
    del context
    if sys.platform != "linux":
        return "process: needs Linux; use --recode-sandbox=docker"
    if fault := problem():
        return f"process: {fault}; run pytest as another user than root"
    return None


def reap(context: SandboxContext) -> None:
    del context
    reap_processes()
    reap_directories()
    control_groups.reap()


KIND = SandboxKind(make=Process, check=check, reap=reap, local=True, needs="interpreter", automatic=3, concurrent=True)
