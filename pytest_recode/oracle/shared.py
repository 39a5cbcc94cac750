"""The judge of tasks whose tests import the target: one process for both, and a verdict that says so (`isolation: shared`).

`inside/shared_grader/judge.py` is the other half. What it reports bears this grading's token; what does not was written by the candidate.
"""

from __future__ import annotations

import io
import secrets
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_recode.faults import GraderError, SandboxError
from pytest_recode.inside.shared_grader import import_scan
from pytest_recode.inside.wire import frames
from pytest_recode.oracle.programs import SHARED_BESIDE, SHARED_PYTEST, SHARED_UNITTEST, roots
from pytest_recode.oracle.switchboard import ending, launch
from pytest_recode.sandboxes import Connection, Program, Sandbox
from pytest_recode.task import Files, Oracle, Parts, Task
from pytest_recode.verdict import Case, Exc, Outcome, Verdict, legible

_MESSAGE_LIMIT = 1 << 20
_START_SECONDS = 60.0
_LEARNING_SECONDS = 240.0
"""Of the reference's own run at most, once for a repository: a warm parent has somewhat more time to get ready."""
_SHARED_IMPORTS = ("torch",)
"""Worth importing once for all the repositories of a benchmark: a second and more, and nearly all of them need it."""


def judge_shared(task: Task, parts: Parts, targets: Files, sandbox: Sandbox, *, seed: int | None = None) -> Verdict:
    """Run the hidden tests of `parts` in one process with the candidate.

    Raises `GraderError` where the reference does not pass them ("cannot be judged here"), `SandboxError`. Whatever the
    candidate does is a failed case, or tampering.
    """
    chosen = secrets.randbits(48) if seed is None else seed
    grading = _Grading(task=task, seed=chosen)
    files = {path: targets[path] for path in task.targets if path in targets}
    while True:
        connection = _launched(task, parts, sandbox)
        try:
            grading.follow(sandbox, connection, files)
        finally:
            connection.kill()
        if not grading.goes_on():
            return grading.verdict()


def check_shared(task: Task, parts: Parts, sandbox: Sandbox) -> None:
    """Whether this task can be judged here, before anybody works on it. Raises as `judge_shared` does."""
    connection = _launched(task, parts, sandbox)
    try:
        _Grading(task=task, seed=0).begin(connection, {})
    finally:
        connection.kill()


def _launched(task: Task, parts: Parts, sandbox: Sandbox) -> Connection:
    program = replace(_runner(task.oracle), seed=_order(task, parts))
    environment = replace(task.environment, preload=(*_preload(task, parts), *task.environment.preload))
    return launch(sandbox, program, environment, task.limits)


def _runner(oracle: Oracle) -> Program:
    if oracle.beside is not None:
        return SHARED_BESIDE
    return SHARED_UNITTEST if oracle.script else SHARED_PYTEST


def _order(task: Task, parts: Parts) -> bytes:
    """The same bytes for every task of one repository with one reference: they share a warm judge."""
    data = io.BytesIO()
    message = {
        "repo": dict(sorted({**parts.repo, **parts.reference}.items())),
        "hidden": dict(sorted(parts.tests.items())),
        **_what_to_run(task, parts),
    }
    frames.write_message(data, message)
    return data.getvalue()


def _what_to_run(task: Task, parts: Parts) -> dict[str, Any]:
    if task.oracle.script:
        return {"script": task.oracle.script, "seconds": task.limits.test_seconds}
    beside = task.oracle.beside
    if beside is not None:
        return {
            "test": beside.test,
            "base": beside.base,
            "cwd": beside.cwd,
            "roots": list(beside.roots),
            "expected": dict(parts.cases),
            "seconds": min(task.limits.grading_seconds, _LEARNING_SECONDS),
        }
    return {
        "roots": roots({**parts.repo, **parts.reference}),
        "interfaces": list(task.interfaces),
        "targets": list(task.targets),
        "seconds": min(task.limits.grading_seconds, _LEARNING_SECONDS),
    }


def _preload(task: Task, parts: Parts) -> tuple[str, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the authors' strings
        files = {**parts.repo, **parts.reference, **parts.tests}
        scripts = [task.oracle.script] if task.oracle.script else list(parts.tests)
        wanted = {name for script in scripts for name in import_scan.outside(script, files)}
    return tuple(name for name in _SHARED_IMPORTS if name in wanted)


@dataclass(slots=True, kw_only=True)
class _Grading:
    task: Task
    seed: int
    token: str = ""
    expected: dict[str, str] = field(default_factory=dict)  # the interface of each case, in the order they run
    cases: dict[str, Case] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    open: str = ""
    rest: tuple[str, str, Exc | None] = ("died", "it did not run", None)  # what becomes of cases that were not reported
    done: bool = False
    start: float = 0.0
    since: float = 0.0

    def follow(self, sandbox: Sandbox, connection: Connection, targets: Files) -> None:
        """Take in what one judge says of all the cases that are left. Raises `GraderError`, `SandboxError`."""
        self.begin(connection, targets)
        self.since = time.monotonic()
        self.start = self.start or self.since
        try:
            while not self.done:
                self._step(frames.receive_message(connection, _MESSAGE_LIMIT, self._deadline()))
        except TimeoutError:
            self.rest = ("timeout", self._too_slow(), None)
        except (ConnectionError, EOFError):
            how = ending(sandbox, connection) or "closed its pipe"
            self.rest = ("died", f"the process of the candidate and its tests ended: {how}", None)
        except (frames.WireError, KeyError, TypeError, ValueError) as error:
            self._tampered(f"garbage was sent in place of a result ({type(error).__name__}: {error})")

    def begin(self, connection: Connection, targets: Files) -> None:
        """Send the candidate, and learn which cases the reference passes: no code of the candidate's has run then."""
        self.token, self.open = secrets.token_hex(16), ""
        left = [case for case in self.expected if case not in self.cases] if self.cases else None
        names = list(self.task.targets)
        order = {"token": self.token, "targets": dict(targets), "names": names, "seed": self.seed, "only": left}
        try:
            frames.send_message(connection, order, time.monotonic() + _START_SECONDS)
            # in a sandbox without a warm parent, the reference is run only now
            patience = _START_SECONDS + _LEARNING_SECONDS
            first = frames.receive_message(connection, _MESSAGE_LIMIT, time.monotonic() + patience)
        except (ConnectionError, EOFError, TimeoutError, frames.WireError) as error:
            raise SandboxError(f"the judge's sandbox took no files: {connection.kill() or error}") from None
        self._collected(first)

    def _deadline(self) -> float:
        """A script has one limit for all. With pytest, each case has one, what comes before the first as well."""
        limits = self.task.limits
        if self.task.oracle.script:
            return self.start + limits.test_seconds
        return min(self.start + limits.grading_seconds, self.since + limits.test_seconds)

    def _too_slow(self) -> str:
        limits = self.task.limits
        if self.task.oracle.script:
            return f"the tests did not end within {limits.test_seconds:g} s"
        if time.monotonic() >= self.start + limits.grading_seconds:
            return f"the grading's {limits.grading_seconds:g} s were used up"
        return f"{'the test' if self.open else 'the import of the tests'} did not end within {limits.test_seconds:g} s"

    def goes_on(self) -> bool:
        """Where one case hung or ended its judge, another judge takes the cases that are left."""
        if self.done or self.flags or not self.open or self.task.oracle.script:
            return False
        self._close(self.open, Outcome.FAILED, *self.rest)
        in_time = time.monotonic() < self.start + self.task.limits.grading_seconds
        return in_time and len(self.cases) < len(self.expected)

    def _collected(self, message: Mapping[str, Any]) -> None:
        """Before any code of the candidate's has run: what is wrong is not its fault."""
        if message.get("problem"):
            raise GraderError(
                legible(f"cannot be judged here: the reference does not pass its tests\n{message['problem']}")
            )
        self.expected = dict(message["cases"])

    def _step(self, message: Mapping[str, Any]) -> None:
        if message.get("token") != self.token:
            self._tampered("a result was forged: it was written by somebody who does not know this grading's token")
            self.done = True
            return
        op = message["op"]
        if op == "flag":
            self._tampered(message["text"])
        elif op == "started":
            self.open, self.since = message["id"], time.monotonic()
        elif op == "finished":
            self._finished(message)
        elif op == "ended":
            self.rest = (message["kind"], message["message"], _exception(message["exception"]))
        elif op == "done":
            self.done = True
        else:
            raise ValueError(f"unknown step {op!r}")

    def _tampered(self, text: str) -> None:
        self.flags.append(legible(text, keep=""))

    def _finished(self, message: Mapping[str, Any]) -> None:
        case = message["id"]
        if case not in self.expected or case in self.cases:
            self._tampered(f"{case} is none of the cases that the reference passes, or was reported twice")
            return
        outcome = Outcome.PASSED if message["outcome"] == "passed" else Outcome.FAILED
        told = (message["kind"], message["message"], _exception(message["exception"]))
        self._close(case, outcome, *told, junit=message.get("junit", ""))
        self.open, self.since = "", time.monotonic()

    def _close(
        self, case: str, outcome: Outcome, kind: str, text: str, exception: Exc | None, *, junit: str = ""
    ) -> None:
        """Without what JUnit counts: the case never ended, or never ran."""
        self.cases[case] = Case(
            id=case,
            interface=self.expected[case],
            outcome=outcome,
            kind=kind,
            message=legible(text),
            exception=exception,
            seconds=time.monotonic() - self.since,
            junit=junit or ("failure" if kind == "timeout" else "error"),
        )

    def verdict(self) -> Verdict:
        """Every case the reference passes is there; one that was not reported, or all where the judge did not end, failed."""
        self.since = time.monotonic()
        for case in self.expected:
            if case not in self.cases:
                self._close(case, Outcome.FAILED, *self.rest)
        text = self.rest[1]
        if not self.done and not self.flags and all(case.outcome is Outcome.PASSED for case in self.cases.values()):
            self.flags.append(f"all tests ran, and then the judge was ended: {text}")
        return Verdict(
            cases=tuple(self.cases[case] for case in self.expected),
            seed=self.seed,
            seconds=time.monotonic() - self.start,
            isolation="shared",
            tampering=tuple(self.flags),
        )


def _exception(told: Mapping[str, Any] | None) -> Exc | None:
    if told is None:
        return None
    frames = tuple(legible(frame, keep="") for frame in told["frames"])
    return Exc(type=legible(told["type"], keep=""), message=legible(told["message"]), frames=frames)
