"""Shared judging: tests that import the target run in one process with it, and the verdict says so (`isolation: shared`).

Runs on the host; `inside/shared_grader/shared_judge.py` is the other end. Each of its messages carries the token of the
grading. A message without it was written by the candidate.
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
from pytest_recode.inside.wire import frames, messages
from pytest_recode.oracle.patience import Patience
from pytest_recode.oracle.programs import import_roots
from pytest_recode.oracle.steps import exception_of
from pytest_recode.oracle.switchboard import how_it_ended, launch, not_if_disk_was_full, not_if_stopped_since
from pytest_recode.sandboxes import Connection, Program, Sandbox
from pytest_recode.sandboxes.shipping import program
from pytest_recode.task import Files, Oracle, Parts, Task
from pytest_recode.verdict import Case, Exc, Outcome, Verdict, legible
from pytest_recode.wording import some_of

SHARED_PYTEST = program("shared-pytest", "shared_grader.pytest_runner")
SHARED_BESIDE = program("shared-beside", "shared_grader.in_repo_runner")
SHARED_UNITTEST = program("shared-unittest", "shared_grader.unittest_runner")

_MESSAGE_LIMIT = 1 << 20
_START_SECONDS = 60.0
_REFERENCE_SECONDS = 240.0
"""Limit of the reference's own run, once for a repository. A warm parent has somewhat more time to get ready."""
_MOST_NAMES = 5
_SHARED_IMPORTS = ("torch",)
"""Modules imported once for all repositories of a benchmark: they take a second or more, and nearly all need them."""


def judge_shared(task: Task, parts: Parts, targets: Files, sandbox: Sandbox, *, seed: int) -> Verdict:
    """Run the hidden tests of `parts` in one process with the candidate.

    Raises `GraderError` where the reference does not pass them ("cannot be judged here"), `SandboxError` where the
    sandbox fails. Whatever the candidate does is a failed case, or tampering.
    """
    files = {path: targets[path] for path in task.targets if path in targets}
    grading = _SharedGrading(task=task, seed=seed)
    grading.run(parts, files, sandbox)
    verdict = grading.verdict()
    flags: list[str] = []
    for party in messages.PARTIES if verdict.solved else ():
        if grading.sensitive[party]:
            again = _SharedGrading(task=task, seed=seed, perturbed=party)
            again.run(parts, files, sandbox)
            flags += again.passed_wrongly()
            verdict = replace(verdict, seconds=verdict.seconds + again.seconds())
    return replace(verdict, tampering=(*verdict.tampering, *flags), verifiable=any(grading.sensitive.values()))


def check_shared(task: Task, parts: Parts, sandbox: Sandbox) -> None:
    """Check whether this task can be judged here, before an agent works on it. Raises as `judge_shared` does."""
    connection = _launch_judge(task, parts, sandbox)
    try:
        _SharedGrading(task=task, seed=0).begin(connection, {})
    finally:
        connection.kill()


def _launch_judge(task: Task, parts: Parts, sandbox: Sandbox) -> Connection:
    program = replace(_runner(task.oracle), preparation=_preparation(task, parts))
    environment = replace(task.environment, preload=(*_preload(task, parts), *task.environment.preload))
    return launch(sandbox, program, environment, task.limits)


def _runner(oracle: Oracle) -> Program:
    if oracle.beside is not None:
        return SHARED_BESIDE
    return SHARED_UNITTEST if oracle.script else SHARED_PYTEST


def _preparation(task: Task, parts: Parts) -> bytes:
    """What a warm judge prepares. Tasks of one repository with one reference have the same bytes, and share the judge."""
    data = io.BytesIO()
    message = {
        "repo": dict(sorted({**parts.repo, **parts.reference}.items())),
        "hidden": dict(sorted(parts.tests.items())),
        "targets": list(task.targets),
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
            "seconds": min(task.limits.grading_seconds, _REFERENCE_SECONDS),
        }
    return {
        "roots": import_roots({**parts.repo, **parts.reference}),
        "interfaces": list(task.interfaces),
        "seconds": min(task.limits.grading_seconds, _REFERENCE_SECONDS),
    }


def _preload(task: Task, parts: Parts) -> tuple[str, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about strings in the authors' sources
        files = {**parts.repo, **parts.reference, **parts.tests}
        scripts = [task.oracle.script] if task.oracle.script else list(parts.tests)
        wanted = {name for script in scripts for name in import_scan.external_imports(script, files)}
    return tuple(name for name in _SHARED_IMPORTS if name in wanted)


@dataclass(slots=True, kw_only=True)
class _SharedGrading:
    task: Task
    seed: int
    perturbed: messages.Party | None = None
    token: str = ""
    expected: dict[str, str] = field(default_factory=dict)  # the interface of each case, in the start_message they run
    sensitive: Mapping[messages.Party, list[str]] = field(default_factory=dict)
    """The cases that right code fails if what a party returns is shifted."""
    cases: dict[str, Case] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    versions: Mapping[str, str] = field(default_factory=dict)
    failures_reported: set[str] = field(default_factory=set)
    open: str = ""  # the id of the case that runs
    unreported: tuple[str, str, Exc | None] = ("died", "the case did not run", None)
    """Kind, message and exception of the cases that were not reported."""
    done: bool = False
    start: float = 0.0
    since: float = 0.0  # when the running case began

    def run(self, parts: Parts, targets: Files, sandbox: Sandbox) -> None:
        """Run all cases, in as many judges as it takes. Raises `GraderError`, `SandboxError`."""
        while True:
            connection = _launch_judge(self.task, parts, sandbox)
            try:
                self.follow(connection, targets)
            finally:
                connection.kill()
            if not self.continues():
                return

    def follow(self, connection: Connection, targets: Files) -> None:
        """Read what one judge reports about all cases without an outcome. Raises `GraderError`, `SandboxError`."""
        self.begin(connection, targets)
        self.since = time.monotonic()
        self.start = self.start or self.since
        patience = Patience(connection, "judge", self.task.limits, self._put_off, self._put_off_grading)
        try:
            while not self.done:
                patience.begin(self.open)
                self._step(frames.receive_message(patience, _MESSAGE_LIMIT, self._deadline()))
        except TimeoutError:
            not_if_stopped_since(self.start)
            self.unreported = ("timeout", self._too_slow(), None)
        except (ConnectionError, EOFError):
            how = how_it_ended(connection) or "closed its pipe"
            self.unreported = ("died", f"the process of the candidate and its tests ended: {how}", None)
        except frames.WireError as error:
            self._tampered(f"the process sent garbage instead of a result ({error})")

    def begin(self, connection: Connection, targets: Files) -> None:
        """Send the candidate, and read which cases the reference passes. No candidate code has run at this point."""
        self.token, self.open = secrets.token_hex(16), ""
        left = [case for case in self.expected if case not in self.cases] if self.cases else None
        names = list(self.task.targets)
        start_message: messages.JudgeStart = {
            "token": self.token,
            "targets": dict(targets),
            "names": names,
            "seed": self.seed,
            "only": left,
            "perturbed": self.perturbed,
        }
        try:
            frames.send_message(connection, start_message, time.monotonic() + _START_SECONDS)
            # in a sandbox without a warm parent, the reference is run only now
            patience = _START_SECONDS + _REFERENCE_SECONDS
            first = messages.learned(frames.receive_message(connection, _MESSAGE_LIMIT, time.monotonic() + patience))
        except (ConnectionError, EOFError, TimeoutError, frames.WireError) as error:
            how = connection.kill()
            not_if_disk_was_full("judge", how)
            raise SandboxError(f"the judge did not read the task's files: {how or error}") from None
        self._learned(first)

    def _deadline(self) -> float:
        """A script has one limit for all cases. With pytest each case has its own, and so has the time before the first."""
        limits = self.task.limits
        if self.task.oracle.script:
            return self.start + limits.test_seconds
        return min(self.start + limits.grading_seconds, self.since + limits.test_seconds)

    def _put_off(self, seconds: float) -> None:
        self.start += seconds
        self.since += seconds

    def _put_off_grading(self, seconds: float) -> None:
        self.start += seconds

    def _too_slow(self) -> str:
        limits = self.task.limits
        if self.task.oracle.script:
            return f"the tests did not end within {limits.test_seconds:g} s"
        if time.monotonic() >= self.start + limits.grading_seconds:
            return f"the grading's {limits.grading_seconds:g} s were used up"
        return f"{'the test' if self.open else 'the import of the tests'} did not end within {limits.test_seconds:g} s"

    def continues(self) -> bool:
        """Whether another judge is to run the remaining cases, because one case hung or ended its judge."""
        if self.done or self.flags or self.task.oracle.script:
            return False
        if self.open not in self.expected or self.open in self.cases:  # none, or one that the candidate made up
            return False
        self._close(self.open, Outcome.FAILED, *self.unreported)
        in_time = time.monotonic() < self.start + self.task.limits.grading_seconds
        return in_time and len(self.cases) < len(self.expected)

    def _learned(self, message: messages.Learned) -> None:
        if message["problem"]:
            raise GraderError(
                legible(f"cannot be judged here: the reference does not pass its tests\n{message['problem']}")
            )
        self.expected, self.versions = dict(message["cases"]), message["versions"]
        self.sensitive = message["sensitive"]

    def _step(self, message: Mapping[str, Any]) -> None:
        """Handle one step. Raises `MessageError` where it is none."""
        token = message.get("token")
        if type(token) is not str or token != self.token:
            self._tampered("a result was forged: the message does not carry the token of this grading")
            self.done = True
            return
        step = messages.judge_step(message)
        if step["op"] == "flag":
            self._tampered(step["text"])
        elif step["op"] == "started":
            self.open, self.since = step["id"], time.monotonic()
        elif step["op"] == "finished":
            self._finished(step)
        elif step["op"] == "ended":
            self.unreported = (step["kind"], step["message"], exception_of(step["exception"]))
        else:
            self.done = True

    def _tampered(self, text: str) -> None:
        self.flags.append(legible(text, keep=""))

    def _finished(self, step: messages.FinishedOfInterface) -> None:
        case = step["id"]
        if case not in self.expected or case in self.cases:
            self._tampered(f"a result was reported for {case}, which the reference does not pass or which had a result")
            return
        outcome = Outcome.PASSED if step["outcome"] == "passed" else Outcome.FAILED
        if outcome is Outcome.FAILED:
            self.failures_reported.add(case)
        exception = exception_of(step["exception"])
        self._close(case, outcome, step["kind"], step["message"], exception, junit=step["junit"])
        self.open, self.since = "", time.monotonic()

    def _close(
        self, case: str, outcome: Outcome, kind: str, text: str, exception: Exc | None, *, junit: str = ""
    ) -> None:
        """Record the outcome of a case. Without `junit` the case never ended, or never ran."""
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

    def passed_wrongly(self) -> list[str]:
        """Why a pass is not believed after this perturbed grading; [] if it is. Each sensitive case must report that it failed."""
        assert self.perturbed is not None
        wrong = [case for case in self.sensitive[self.perturbed] if case not in self.failures_reported]
        if not wrong:
            return []
        shifted = "the reference's" if self.perturbed == "reference" else "its own"
        return [
            f"passes against a wrong judge too: {shifted} values were shifted, and {some_of(wrong, _MOST_NAMES)} did not fail"
        ]

    def seconds(self) -> float:
        return time.monotonic() - self.start

    def verdict(self) -> Verdict:
        """The verdict. It has every case that the reference passes; a case that was not reported failed."""
        self.since = time.monotonic()
        for case in self.expected:
            if case not in self.cases:
                self._close(case, Outcome.FAILED, *self.unreported)
        text = self.unreported[1]
        if not self.done and not self.flags and all(case.outcome is Outcome.PASSED for case in self.cases.values()):
            self.flags.append(f"the process ended after all tests, before it checked for tampering: {text}")
        return Verdict(
            cases=tuple(self.cases[case] for case in self.expected),
            seed=self.seed,
            seconds=self.seconds(),
            isolation="shared",
            tampering=tuple(self.flags),
            versions=self.versions,
        )
