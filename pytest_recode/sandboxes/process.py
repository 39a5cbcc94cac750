"""process: no walls, only limits. Refused unless asked for, or unless all that runs is this project's own.

The same warm parents as bubblewrap's, without namespaces: a program sees this machine's files, network and processes, as
the user who runs pytest. What holds: an environment built from nothing, a directory of its own, limits of memory,
processes, file size and descriptors, and that all it started ends with it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes import Connection, Program, SandboxContext, SandboxKind
from pytest_recode.sandboxes.leftovers import MARK, make_directory, mark, reap_directories, reap_processes
from pytest_recode.sandboxes.local import (
    LocalConnection,
    ParentGone,
    WarmKey,
    WarmParent,
    environment_variables,
    interpreter,
    not_importable,
    warm_key,
)
from pytest_recode.task import Environment, Limits


class Process:
    """A `Sandbox` in name."""

    name = "process"
    isolation = "process"

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._parents: dict[WarmKey, WarmParent] = {}
        self._directory: Path | None = None

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        key = warm_key(program, environment, self._context.python)
        try:
            return self._fork(key, program, limits)
        except ParentGone:
            self._parents.pop(key).close()  # here a program can kill it
        try:
            return self._fork(key, program, limits)
        except ParentGone as exc:
            self._parents.pop(key).close()
            raise SandboxError(f"the warm parent of {program.name} ended: {exc}") from exc

    def close(self) -> None:
        while self._parents:
            self._parents.popitem()[1].close()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def _fork(self, key: WarmKey, program: Program, limits: Limits) -> LocalConnection:
        parent = self._parent(key, program)
        directory = tempfile.mkdtemp(dir=self._home())
        return parent.launch(limits, persistent=program.persistent, directory=directory)

    def _home(self) -> Path:
        if self._directory is None:
            self._directory = make_directory()
        return self._directory

    def _parent(self, key: WarmKey, program: Program) -> WarmParent:
        if key not in self._parents:
            python = interpreter(key.python)
            parent = WarmParent(
                [str(python.executable)],
                env={**environment_variables(python, "/nonexistent"), MARK: mark(self._context.run)},
                program=program,
                preload=key.preload[: len(key.preload) - len(program.preload)],
                namespaces=False,
            )
            try:
                parent.wait_ready()
            except ImportError as exc:
                parent.close()
                raise not_importable(exc, key.python) from exc
            except (ParentGone, TimeoutError) as exc:
                parent.close()
                raise SandboxError(f"{key.python} could not be started: {exc}") from exc
            self._parents[key] = parent
        return self._parents[key]


def check(context: SandboxContext) -> str | None:
    del context
    if sys.platform != "linux":
        return "process: needs Linux; use --recode-sandbox=docker"
    return None


def reap(context: SandboxContext) -> None:
    del context
    reap_processes()
    reap_directories()


KIND = SandboxKind(make=Process, check=check, reap=reap)
