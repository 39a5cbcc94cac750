"""Judges tests that import the code under test: tests and candidate share one process.

Runs in the shared judge, in one process with the candidate. Each runner module calls `warm`, `prepare` and `main`.
Must not send a message without the token of its grading, and must not accept the exit of the process as a result.

It has two stages. `prepare`, once for a repository, imports what the tests need, runs them against the reference in a
fork to learn which cases there are (`reference_run.py`), and then runs them in this process, so that everything built
on first use exists. `main`, in a fork for each grading, writes the candidate's files, runs the tests and reports every case. A `Runner` (`runner.py`) defines how tests are run.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import secrets
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple, Optional, cast

from ..grading import library_versions
from ..setup.random_generators import seed_generators
from ..setup.task_files import write_files
from ..wire import frames, messages
from . import exception_report, perturbed
from .reference_run import ProcessState, ReferenceRun, run_in_fork, snapshot_of, unload_repository
from .runner import Runner, Step
from .tampering import code_snapshot, strict_comparisons
from .tampering_check import TamperingCheck

_NOT_FORKED = {"jax"}
"""Libraries that start threads when they first run something: a fork after that hangs."""
_WORTH_A_RUN = 2.0
"""Limit of CPU seconds, and of ten times as many by the clock, above which the tests do not run in the warm parent:
what slower tests build on first use is small compared with the time that they take in each grading."""
_TIMES_AS_LONG = 5.0
"""A run with shifted values may take that many times as long as the one before: a busy machine must not make tests look blind."""


class Sensitive(NamedTuple):
    """The cases that the authors' own code fails, by an assertion, under one perturbation."""

    perturbation: perturbed.Perturbation
    cases: list[str]


class _Prepared(NamedTuple):
    order: dict[str, Any]
    reference: ReferenceRun
    unshifted: Optional[perturbed.Perturbation]
    """Wraps the reference in the gradings without shifts; None where its tests do not pass with wrapped functions."""
    snapshot: code_snapshot.CodeSnapshot
    sensitive: dict[messages.Party, Sensitive]


_prepared: list[_Prepared] = []
"""One item from `prepare` on; `main` takes it, so that candidate code does not find it here."""


def warm() -> None:
    """Once for all repositories: make the comparisons of the loaded libraries strict."""
    strict_comparisons.install_strict_comparisons()


def prepare(data: bytes, runner: Runner) -> None:
    """Get ready for one repository, in a working directory that can be written.

    `data` is a message with `repo` (the repository with the reference's files), `hidden` (the tests' files), `seconds`
    (the limit of the reference's run) and what the runner needs.
    """
    order = frames.read_message(io.BytesIO(data), 1 << 40)
    order["only"] = order["perturbation"] = None
    order["own_modules"] = {}
    gc.disable()  # imports produce hardly any garbage
    for module in runner.external_imports(order):
        with contextlib.suppress(Exception):  # the tests' own import will report it
            importlib.import_module(module)
    warm()  # for the modules imported since
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")  # numpy imports it when it is first used, unseeded
    gc.collect()
    gc.freeze()  # a collection in a fork would copy the pages of all objects
    gc.enable()
    state = ProcessState()
    directory = Path.cwd()
    began = time.monotonic()
    wrapper = perturbed.Perturbation("reference", secrets.randbits(64), shifts=False)
    deadline = began + order["seconds"]
    for unshifted, separate in ((wrapper, True), (wrapper, False), (None, True), (None, False)):
        order["perturbation"], order["separate"] = unshifted, separate
        reference, worked = run_in_fork(order, runner, deadline)
        if not reference.problem or time.monotonic() > deadline:
            break
    quick = worked < _WORTH_A_RUN and time.monotonic() - began < 10 * _WORTH_A_RUN
    patience = max(order["seconds"], _TIMES_AS_LONG * (time.monotonic() - began))
    shifted = {} if reference.problem else _sensitive(order, runner, reference, patience)
    unchanged = dict(order)  # a run removes parts of it
    if quick and not reference.problem and not _NOT_FORKED & set(sys.modules):
        write_files(order["repo"], directory)
        with contextlib.suppress(BaseException):  # the same run has just succeeded
            runner.run(order, _discard, 0)
        unload_repository(directory)
        state.restore()
    _prepared[:] = [_Prepared(unchanged, reference, unshifted, snapshot_of(unchanged, runner), shifted)]


def _sensitive(
    order: dict[str, Any], runner: Runner, reference: ReferenceRun, patience: float
) -> dict[messages.Party, Sensitive]:
    """What right code fails under a perturbation of each party. The cases of a later party are those that no earlier one has."""
    sensitive: dict[messages.Party, Sensitive] = {}
    left = list(reference.cases)
    for party in messages.PARTIES:
        perturbation = perturbed.Perturbation(party, secrets.randbits(64))
        shifted = {**order, "only": left, "perturbation": perturbation}
        failed = run_in_fork(shifted, runner, time.monotonic() + patience)[0].failed if left else ()
        sensitive[party] = Sensitive(perturbation, [case for case in left if case in failed])
        left = [case for case in left if case not in failed]
    return sensitive


def main(reader: Any, writer: Any, runner: Runner) -> None:
    start = cast(messages.JudgeStart, frames.read_message(reader, 1 << 40))
    put, token = frames.putter(writer), start["token"]

    def send(step: Any) -> None:
        frames.put_frame(put, frames.TO_HOST, messages.with_token(step, token))

    prepared, reference, unshifted, snapshot, sensitive = _prepared.pop()
    chosen = sensitive[start["perturbed"]] if start["perturbed"] else None
    order = {**prepared, "only": start["only"], "perturbation": chosen.perturbation if chosen else unshifted}
    order["own_modules"] = {}
    if chosen and order["only"] is None:
        order["only"] = chosen.cases
    versions = library_versions.loaded_versions()
    learned = messages.Learned(
        op="collected",
        cases=reference.cases,
        sensitive={party: each.cases for party, each in sensitive.items()},
        problem=reference.problem,
        versions=versions,
    )
    send(learned)
    if reference.problem:
        return
    repo, targets = order["repo"], start["targets"]
    write_files({path: data for path, data in repo.items() if path not in start["names"]}, Path())
    write_files(targets, Path())
    hidden = list(runner.hidden_modules(order))
    repository_paths = [*(path for path in repo if path not in start["names"]), *order["hidden"]]
    del repo, prepared
    seed_generators(start["seed"])
    check = TamperingCheck(
        snapshot,
        targets,
        repository_paths,
        hidden,
        lambda text: send(messages.Flag(op="flag", text=text)),
        reference.findings,
        order["own_modules"],
    )
    if order["perturbation"] is not None:
        order["perturbation"].before = check.look

    def report(step: Step) -> None:
        if step["op"] == "started":
            check.look_at_cases()  # what decides this one may be changed back before the end
        send(step)

    try:
        runner.run(order, report, start["seed"])
    except BaseException as exc:  # noqa: BLE001  the tests end: no case that has not run passes
        send(messages.ended(exception_report.failure_report(exc)))
    check.close()
    send(messages.DONE)


def _discard(step: Step) -> None: ...
