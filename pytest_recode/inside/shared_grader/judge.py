"""Judges tests that import the code under test: tests and candidate share one process.

Runs in the shared judge, in one process with the candidate. Each runner module calls `warm`, `grow` and `main`. Must
not send a message without the token of its grading, and must not accept the exit of the process as a result.

It has two stages. `grow`, once for a repository, imports what the tests need, runs them against the reference in a
fork to learn which cases there are, and then runs them in this process, so that everything built on first use exists.
`main`, in a fork for each grading, lays out the candidate, reads it, runs the tests and reports every case. A
`Runner` defines how tests are run: `unittest_runner.py`, `pytest_runner.py`, `in_repo_runner.py`.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import random
import select
import signal
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from ..wire import frames
from . import exception_report
from .tampering import audit_monitor, comparison_guards, judge_snapshot, static_checks

_NOT_FORKED = {"jax"}
"""Once they have run anything they have threads of their own, and a fork of them hangs."""
_WORTH_A_RUN = 2.0
"""Seconds of work, however busy the machine is, and ten times that by the clock: what slower tests build on first use is little beside what they take each time."""
_MOST_LINES = 20

Say = Callable[[dict[str, Any]], None]


class Runner(NamedTuple):
    """A way to run tests. `order` is what `grow` gets, with `only`: the ids of the cases to run, or None for all."""

    run: Callable[[dict[str, Any], Say, int], None]
    """Run the tests with the candidate laid out here, and the seed: say `started` and `finished` of each, `ended` of what never ran."""
    names: Callable[[dict[str, Any]], Iterable[str]]
    """The modules that are the tests' alone."""
    outside: Callable[[dict[str, Any]], Iterable[str]]
    """The modules that the tests will import from outside the repository."""
    packages: Sequence[str] = ()
    canaries: Callable[[], judge_snapshot.Canaries] = tuple
    """What verdicts rest on besides, as `judge_snapshot.Noted` is told."""


_grown: dict[str, Any] = {}


def warm() -> None:
    """Once for all repositories: what the comparisons of what is here already import and build on first use."""
    comparison_guards.strict()
    judge_snapshot.Noted().changes()


def grow(data: bytes, runner: Runner) -> None:
    """`data`: a message of `repo` (the reference laid in), `hidden`, `seconds` and what the runner asks for; the working
    directory is writable."""
    order = frames.read_message(io.BytesIO(data), 1 << 40)
    order["only"] = None
    _grown.update(order)
    gc.disable()  # imports make hardly any garbage
    for module in runner.outside(order):
        with contextlib.suppress(Exception):  # it is for the tests to say so
            importlib.import_module(module)
    warm()  # for what has come since
    gc.collect()
    gc.freeze()  # what a fork would look through, it would copy
    gc.enable()
    state = _State()
    here = Path.cwd()
    began = time.monotonic()
    _grown["reference"], worked = _in_a_fork(order, runner, began + order["seconds"])
    quick = worked < _WORTH_A_RUN and time.monotonic() - began < 10 * _WORTH_A_RUN
    if quick and not _grown["reference"]["problem"] and not _NOT_FORKED & set(sys.modules):
        lay_out(order["repo"])
        with contextlib.suppress(BaseException):  # it has just gone well
            runner.run(order, _unheard, 0)
        _forget(here)
        state.restore()
    _grown["noted"] = _noted(_grown, runner)


def _noted(order: dict[str, Any], runner: Runner) -> judge_snapshot.Noted:
    text = b"".join(data for part in ("repo", "hidden") for path, data in order[part].items() if path.endswith(".py"))
    return judge_snapshot.Noted(runner.packages, runner.canaries(), runner.outside(order), text)


class _State:
    """What tests change of a process."""

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


def _in_a_fork(order: dict[str, Any], runner: Runner, deadline: float) -> tuple[dict[str, Any], float]:
    """What the tests say of the reference: `cases` in the order they ran, each with its interface, and `problem`, "" where all
    passed. And the seconds of work that it took."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        told: list[dict[str, Any]] = []
        flags: list[str] = []  # what the authors' code does, too, is nothing to hold against a candidate
        problem = ""
        try:
            os.setsid()
            lay_out(order["repo"])
            names = list(runner.names(order))
            eye = _Eye(_noted(order, runner), list(order["repo"]), [], names, flags.append, refuse=False)
            runner.run(order, told.append, 0)
            eye.close()
        except BaseException as exc:  # noqa: BLE001  whatever the tests do
            problem = "".join(traceback.format_exception(type(exc), exc, exc.__traceback__))
        with os.fdopen(writer, "wb") as file:
            frames.write_message(file, {"told": told, "problem": problem, "flags": flags})
        os._exit(0)
    os.close(writer)
    data = b""
    while (left := deadline - time.monotonic()) > 0 and select.select([reader], [], [], left)[0]:
        more = os.read(reader, 1 << 20)
        if not more:
            break
        data += more
    os.close(reader)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    used = os.wait4(pid, 0)[2]
    worked = used.ru_utime + used.ru_stime
    if not data:
        return {"cases": {}, "flags": [], "problem": f"its tests did not end within {order['seconds']:g} s"}, worked
    answer = frames.read_message(io.BytesIO(data), 1 << 30)
    finished = {step["id"]: step for step in answer["told"] if step["op"] == "finished"}
    ended = [step["message"] for step in answer["told"] if step["op"] == "ended"]
    wrong = [f"{case}: {step['message']}" for case, step in finished.items() if step["outcome"] != "passed"]
    problem = answer["problem"] or "\n\n".join(ended + wrong) or ("" if finished else "there are no tests in it")
    cases = {case: step.get("interface", case) for case, step in finished.items()}
    return {"cases": cases, "problem": problem, "flags": answer["flags"]}, worked


class _Eye:
    """Sees what the candidate does while the tests run, and afterwards what it left."""

    def __init__(
        self,
        noted: judge_snapshot.Noted,
        mine: Iterable[str],
        others: Iterable[str],
        hidden_names: Iterable[str],
        say: Callable[[str], None],
        known: Iterable[str] = (),
        *,
        refuse: bool = True,
        tests: Iterable[str] = (),
        readings: Mapping[str, tuple[bytes, static_checks.Reading]] = types.MappingProxyType({}),
    ) -> None:
        """`mine` and `others`: paths of the candidate's files and of those that are not, in the working directory; `tests`: of those
        that are hidden; `readings`: the candidate's texts, and what was found in them."""
        self._place = place = os.getcwd()
        self._say, self._known = say, frozenset(known)
        self._noted = noted
        self._most = _MOST_LINES if refuse else None  # what the reference does is known in full
        own, foreign = ([f"{place}/{path}" for path in each] for each in (mine, others))
        shown = [
            place_of for path in tests for place_of in (path, f"{place}/{path}", f"{exception_report.HIDDEN}/{path}")
        ]
        self._watch = audit_monitor.Watch(own, foreign, hidden_names, say, self._known, refuse, shown)
        for path, (source, reading) in readings.items():
            self._watch.expect(f"{place}/{path}", source, reading)
        self._files = {path: _stamp(path) for path in foreign}
        for module, names in self._noted.modules:
            self._watch.keep(module, names)
        for module, names in self._noted.libraries.modules:
            self._watch.keep(module, names, strict=False)
        for name in [name for name in sys.modules if f"{name}.".startswith("_recode.")]:
            del sys.modules[name]  # nobody is to find them
        self._watch.begin()

    def close(self) -> None:
        self._watch.end()
        with contextlib.suppress(Exception):  # what the candidate left of it
            warnings.resetwarnings()
            warnings.simplefilter("ignore")  # a filter of its own must not make the checks fail
        written = [path for path, stamp in self._files.items() if _stamp(path) != stamp]
        changes = [f"{os.path.relpath(path, self._place)} was written to" for path in written]
        for found in (self._noted.changes(self._watch.candidates), self._watch.changes(), changes):
            new = [change for change in found if change not in self._known]
            for change in new[: self._most]:
                self._say(change)


def _stamp(path: str) -> Optional[tuple[int, ...]]:
    """What no write to a file leaves as it is: the time of a change cannot be set."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_ctime_ns


def main(reader: Any, writer: Any, runner: Runner) -> None:
    start = frames.read_message(reader, 1 << 40)
    put, token = frames.putter(writer), start["token"]

    def say(message: dict[str, Any]) -> None:
        frames.put_frame(put, frames.TO_HOST, {**message, "token": token})
        if message["op"] == "finished":
            noted.classes.keep()

    order, reference, noted = {**_grown, "only": start["only"]}, _grown["reference"], _grown["noted"]
    _grown.clear()
    del order["noted"]
    say({"op": "collected", "cases": reference["cases"], "problem": reference["problem"]})
    if reference["problem"]:
        return
    repo, targets = order["repo"], start["targets"]
    lay_out({path: data for path, data in repo.items() if path not in start["names"]})
    lay_out(targets)
    names = list(runner.names(order))
    readings = {
        path: (targets[path], static_checks.read(targets[path], repo.get(path), names))
        for path in sorted(targets)
        if path.endswith(".py")
    }
    others = [*(path for path in repo if path not in start["names"]), *order["hidden"]]
    del repo
    _seed(start["seed"])
    eye = _Eye(
        noted,
        targets,
        others,
        names,
        lambda text: say({"op": "flag", "text": text}),
        reference["flags"],
        tests=order["hidden"],
        readings=readings,
    )
    try:
        runner.run(order, say, start["seed"])
    except BaseException as exc:  # noqa: BLE001  the tests end: no case that has not run passes
        say({"op": "ended", **exception_report.account(exc)})
    eye.close()
    say({"op": "done"})


def _unheard(message: dict[str, Any]) -> None: ...


def lay_out(files: dict[str, bytes], place: Path = Path()) -> None:
    for path, data in files.items():
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _seed(seed: int) -> None:
    """A fresh process would have drawn from the machine; this can be repeated. (torch begins with the same state always.)"""
    random.seed(seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(seed % 2**32)


def _forget(place: Path) -> None:
    """The repository's modules, so that each grading imports its own; and what the tests left on the disk."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and (file.startswith(f"{place}/") or not file.startswith(("/", "<"))):
            del sys.modules[name]
    for path in sorted(place.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    importlib.invalidate_caches()
