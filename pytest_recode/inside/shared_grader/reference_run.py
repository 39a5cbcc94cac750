"""Runs the hidden tests against the reference, in a fork, to learn which cases there are.

Runs in the warm parent of the shared judge, before any candidate code is present. Called by `judge.prepare`. Must not
change the warm parent's own state: the fork writes the files, imports the tests and ends.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import select
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from ..setup.task_files import write_files
from ..wire import frames
from .runner import Runner, Step
from .tampering import code_snapshot
from .tampering_check import TamperingCheck


class ReferenceRun(NamedTuple):
    """What the tests report about the reference."""

    cases: dict[str, str]
    """The interface of each case, in the order in which they ran."""
    problem: str
    """Why the reference does not pass, "" where it passes every case."""
    failed: frozenset[str] = frozenset()
    """The cases that an assertion failed."""
    findings: frozenset[str] = frozenset()
    """What the reference does that would be tampering: a candidate may do it too."""


def run_in_fork(order: dict[str, Any], runner: Runner, deadline: float) -> tuple[ReferenceRun, float]:
    """Run all cases against the reference. Also returns the CPU seconds that it took."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        steps: list[Step] = []
        findings: list[str] = []
        problem = ""
        try:
            os.setsid()
            write_files(order["repo"], Path())
            hidden = list(runner.hidden_modules(order))
            snapshot = snapshot_of(order, runner)
            check = TamperingCheck(snapshot, list(order["repo"]), [], hidden, findings.append, refuse=False)
            if order["perturbation"] is not None:
                order["perturbation"].before = check.look
            directory, targets, paths = os.getcwd(), order["targets"], set(order["repo"])
            runner.run(order, steps.append, 0)
            check.close()
            own = {f"{directory}/{path}" for path in targets}  # a module may wrap its functions by one of a target's
            rest = {f"{directory}/{path}" for path in paths} - own
            for modules in (sys.modules, order["own_modules"]):
                findings += code_snapshot.changes_of_repository(rest, own.__contains__, modules)
        except BaseException as exc:  # noqa: BLE001  whatever the tests do
            problem = "".join(traceback.format_exception(type(exc), exc, exc.__traceback__))
        with os.fdopen(writer, "wb") as file:
            frames.write_message(file, {"steps": steps, "problem": problem, "findings": findings})
        os._exit(0)
    os.close(writer)
    data = b""
    while (left := deadline - time.monotonic()) > 0 and select.select([reader], [], [], left)[0]:
        more = os.read(reader, 1 << 20)
        if not more:
            break
        data += more
    os.close(reader)
    os.kill(pid, signal.SIGKILL)  # it may have no session of its own yet
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    used = os.wait4(pid, 0)[2]
    worked = used.ru_utime + used.ru_stime
    if not data:
        return ReferenceRun({}, f"its tests did not end within {order['seconds']:g} s"), worked
    return _result(frames.read_message(io.BytesIO(data), 1 << 30)), worked


def snapshot_of(order: dict[str, Any], runner: Runner) -> code_snapshot.CodeSnapshot:
    source = b"".join(data for part in ("repo", "hidden") for path, data in order[part].items() if path.endswith(".py"))
    return code_snapshot.CodeSnapshot(runner.external_imports(order), source)


def _result(answer: dict[str, Any]) -> ReferenceRun:
    finished = {step["id"]: step for step in answer["steps"] if step["op"] == "finished"}
    ended = [step["message"] for step in answer["steps"] if step["op"] == "ended"]
    failed = [f"{case}: {step['message']}" for case, step in finished.items() if step["outcome"] != "passed"]
    problem = answer["problem"] or "\n\n".join(ended + failed) or ("" if finished else "it has no tests")
    cases = {case: step.get("interface", case) for case, step in finished.items()}
    asserted = [case for case, step in finished.items() if step["outcome"] == "failed" and step["exception"] is None]
    return ReferenceRun(cases, problem, frozenset(asserted), frozenset(answer["findings"]))


class ProcessState:
    """The state of a process that tests change: environment, import path, working directory, torch's settings."""

    def __init__(self) -> None:
        self.environ, self.path, self.argv = dict(os.environ), list(sys.path), list(sys.argv)
        self.filters, self.cwd = list(warnings.filters), os.getcwd()
        self.meta_path = list(sys.meta_path)
        torch = sys.modules.get("torch")
        self.torch: Any = None
        if torch is not None and hasattr(torch, "get_rng_state"):
            self.torch = (
                torch.get_rng_state(),
                torch.get_default_dtype(),
                torch.is_grad_enabled(),
                torch.get_num_threads(),
            )

    def restore(self) -> None:
        os.environ.clear()
        os.environ.update(self.environ)
        sys.path[:], sys.argv[:], sys.meta_path[:] = self.path, self.argv, self.meta_path
        warnings.filters[:] = self.filters  # type: ignore[index]
        os.chdir(self.cwd)
        torch = sys.modules.get("torch")
        if self.torch is not None and torch is not None:
            torch.set_rng_state(self.torch[0])
            torch.set_default_dtype(self.torch[1])
            torch.set_grad_enabled(self.torch[2])
            torch.set_num_threads(self.torch[3])


def unload_repository(directory: Path) -> None:
    """Unload the repository's modules, so that each grading imports its own, and delete the files of the tests' run."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and (file.startswith(f"{directory}/") or not file.startswith(("/", "<"))):
            del sys.modules[name]
    for path in sorted(directory.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    importlib.invalidate_caches()
