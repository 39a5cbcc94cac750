"""The judge: launches the grader, follows what it reports, and makes the verdict.

The grader holds the hidden tests, the candidate the code under test (`switchboard.py` is the line between them). Exactly one of the two holds the turn: whoever holds it when a limit passes is at
fault. `docs/explanation/oracle.md` tells how a verdict comes about.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

from pytest_recode.faults import GraderError, SandboxError, UserError
from pytest_recode.inside.wire import frames
from pytest_recode.oracle.programs import GRADER, roots
from pytest_recode.oracle.shared import check_shared, judge_shared
from pytest_recode.oracle.switchboard import START_SECONDS, OpenCase, Switchboard, ending, launch
from pytest_recode.sandboxes import Connection, Sandbox
from pytest_recode.task import Files, Limits, Parts, Task, candidate_files
from pytest_recode.verdict import Case, Exc, Outcome, Verdict, legible

STEP_LIMIT = 64 << 20  # bytes of a message from the grader to the judge


class Fresh(StrEnum):
    """How long one candidate lives at most; one that gave no answer is replaced after its case in any event."""

    CASE = "case"
    INTERFACE = "interface"
    GRADING = "grading"


def judge(
    task: Task,
    parts: Parts,
    targets: Files,
    sandbox: Sandbox,
    *,
    seed: int | None = None,
    fresh: Fresh = Fresh.INTERFACE,
    stop_at_failure: bool = False,
) -> Verdict:
    """Run the hidden tests against `targets` laid over the pristine repository.

    `seed` repeats a verdict; by default it is a new secret. `fresh`: what the tests of one interface tell a candidate
    (the expected loss, say, as an argument) it cannot answer the tests of another with, as it starts anew between them.
    `stop_at_failure`: after the first failed case the others are failed cases that were not run (a shared oracle runs all).

    Raises `GraderError` where the tests give no verdict, `SandboxError` where a sandbox fails. Whatever the candidate
    does is a failed case.
    """
    if task.oracle.isolation == "shared":
        return judge_shared(task, parts, targets, sandbox, seed=seed)
    return _Grading(
        task, parts, targets, sandbox, secrets.randbits(48) if seed is None else seed, fresh, stop_at_failure
    ).run()


def check(task: Task, parts: Parts, sandbox: Sandbox) -> None:
    """Raises what can be told before anybody has worked on the task: `UserError` where tests or reference import what is not
    installed, `GraderError` where else it cannot be judged here, `SandboxError` where its environment lacks what is loaded
    before the task's code."""
    if task.oracle.isolation == "shared":
        check_shared(task, parts, sandbox)
    else:
        _Grading(task, parts, {}, sandbox, 0, Fresh.GRADING).rehearse()


@dataclass(slots=True, kw_only=True)
class _Progress:
    """What is known so far, over one or more graders."""

    interfaces: dict[str, str] = field(default_factory=dict)  # by case, in the order of collection
    cases: dict[str, Case] = field(default_factory=dict)
    open: OpenCase | None = None


class _Grading:
    def __init__(
        self,
        task: Task,
        parts: Parts,
        targets: Files,
        sandbox: Sandbox,
        seed: int,
        fresh: Fresh,
        stop_at_failure: bool = False,
    ) -> None:
        self.task = task
        self.limits: Limits = task.limits
        self.sandbox = sandbox
        self.seed = seed
        self.fresh = fresh
        self.stop_at_failure = stop_at_failure
        self.tests = parts.tests
        self.reference = {**parts.repo, **parts.reference}
        self.progress = _Progress()
        self.start = time.monotonic()
        self.interface = ""  # that the candidate is being asked about
        files = candidate_files(parts, targets, task.targets)
        entropy = _candidate_entropy(seed)
        deadline = self.start + task.limits.grading_seconds
        self.line = Switchboard(sandbox, task.environment, task.limits, files, entropy, deadline)
        self.heard_seconds = 0.0  # of cases that an answer of the candidate's reached, or may have spoiled
        self.answered = False  # whether a candidate answered in an earlier case of the grader that runs
        self.extended = False  # whether the grading's time was granted once more
        self.rehearsal = False

    def run(self) -> Verdict:
        """One grader as a rule; another for the cases that are left where a candidate may have spoiled it."""
        self._check_tests()
        try:
            while not self._grade():
                pass
        finally:
            self.line.close()
        progress = self.progress
        return Verdict(
            cases=tuple(progress.cases[case] for case in progress.interfaces),
            seed=self.seed,
            seconds=time.monotonic() - self.start,
            isolation=self.sandbox.isolation,
        )

    def rehearse(self) -> None:
        """Collect the tests and import the reference, where both will be, and run nothing."""
        self._check_tests()
        self.rehearsal = True
        try:
            self._grade()
        finally:
            self.line.close()

    def _check_tests(self) -> None:
        if not self.tests:
            raise GraderError(f"{self._where()}: there are no hidden tests; write them as tests/test_*.py")

    def _where(self) -> str:
        return str(self.task.manifest.parent / "tests")

    # the grader

    def _grade(self) -> bool:
        """Run a grader to its end; whether every case has been judged then."""
        done = self.progress.cases
        only = [case for case in self.progress.interfaces if case not in done] if self.progress.interfaces else None
        self.answered = False
        launching = time.monotonic()
        grader = launch(self.sandbox, GRADER, self.task.environment, self.limits)
        self.line.deadline += time.monotonic() - launching  # nobody's time: an image may have to be built
        try:
            start = {
                "tests": dict(self.tests),
                "reference": self.reference,
                "roots": roots(self.reference),
                "interfaces": list(self.task.interfaces),
                "seed": self.seed,
                "limit": self.line.answer_limit,
                "only": only,
                "rehearsal": self.rehearsal,
            }
            try:
                frames.send_message(grader, start, time.monotonic() + START_SECONDS)
            except (ConnectionError, TimeoutError):
                how = grader.kill()
                raise SandboxError(f"the grader's sandbox took no files{f': it {how}' if how else ''}") from None
            self._follow(grader)
            if not self.rehearsal:
                self._check_complete()
            return True
        except _GraderGoneError:
            return not (self.progress.interfaces.keys() - done.keys())
        finally:
            self.line.end()
            grader.kill()

    def _follow(self, grader: Connection) -> None:
        """Until it is done. Raises `_GraderGoneError` where another has to judge the cases that are left."""
        while True:
            deadline = self._grader_deadline()
            fill = frames.connection_filler(grader, deadline)
            try:
                frame = frames.fill_prefix(fill, 1 << 40)
                if frame.kind == frames.TO_CANDIDATE:
                    if self.progress.open is None:
                        raise GraderError(f"{self._where()}: the candidate is asked outside of a test")
                    self.line.exchange(grader, frame, self.progress.open)
                    continue
                if frame.header + frame.body > STEP_LIMIT:
                    raise GraderError(f"{self._where()}: the grader reports more than {STEP_LIMIT >> 20} MiB")
                step = frames.fill_message(fill, frame)
            except TimeoutError:
                self._grader_gone(f"the test did not end within {self.limits.test_seconds:g} s", "timeout")
            except (EOFError, ConnectionError):
                how = ending(self.sandbox, grader) or "closed its pipe"
                self._grader_gone(f"the grader {how}", "died")
            except frames.WireError as error:
                self._grader_gone(f"the grader sent no message ({error})", "died")
            else:
                if self._step(step):
                    return

    def _grader_deadline(self) -> float:
        case = self.progress.open
        if case is None:
            return self.line.deadline
        return min(self.line.deadline, case.since + case.candidate_seconds + self.limits.test_seconds)

    def _grader_gone(self, text: str, kind: str) -> NoReturn:
        """The grader is stuck or dead.

        After an answer of the candidate's came in, that answer is held to be the cause: the reference has passed this
        very test, and otherwise a candidate could turn its failures into errors by what it returns.
        """
        case = self.progress.open
        late = time.monotonic() >= self.line.deadline
        if late:
            text = f"the grading did not end within {self.limits.grading_seconds:g} s"
        if case is None or not case.heard:
            where = f"{self._where()}: {case.id}" if case else self._where()
            self._unheard(f"{where}: {text}, and no answer of the candidate's was the cause", late=late)
        if case.lost is not None:
            kind, text = case.lost.kind, case.lost.text
        else:
            text = f"{text}, after the candidate's answers came in"
        self._close(case, Outcome.FAILED, kind, text)
        if late:
            self._out_of_time()
        self._stop_if(failed=True)
        raise _GraderGoneError

    def _unheard(self, text: str, *, late: bool = False) -> NoReturn:
        """It went wrong although nothing that the candidate answered in this case can be the cause.

        What reached an earlier case of the same grader can be the cause (memory, disk, time, something the tests keep):
        then a fresh grader, in which no candidate has answered, tells whose fault it is.
        """
        case = self.progress.open
        if late and self.heard_seconds * 2 >= self.limits.grading_seconds:
            self._out_of_time()
        if not self.answered:
            raise GraderError(legible(text))
        if late and self.extended:
            self._out_of_time()
        if late:
            self.extended = True
            self.line.deadline = time.monotonic() + self.limits.grading_seconds
        if case is not None:
            self.heard_seconds += time.monotonic() - case.since
            self.progress.open = None
        raise _GraderGoneError

    def _out_of_time(self) -> NoReturn:
        """The candidate used the grading's time up: what is left is not run."""
        self._close_rest("timeout", f"not run: the grading's {self.limits.grading_seconds:g} s were used up")

    def _stop_if(self, *, failed: bool) -> None:
        if failed and self.stop_at_failure:
            self._close_rest("", "not run: an earlier case failed")

    def _close_rest(self, kind: str, text: str) -> NoReturn:
        for case in self.progress.interfaces:
            if case not in self.progress.cases:
                self._close(OpenCase(id=case, since=time.monotonic()), Outcome.FAILED, kind, text)
        raise _GraderGoneError

    # what it reports

    def _step(self, step: Any) -> bool:
        op = step.get("op") if isinstance(step, dict) else None
        if op == "collected":
            self._collected(step["cases"])
        elif op == "started":
            self._started(step["id"])
        elif op == "finished":
            self._finished(step)
        elif op == "broken":
            if self.answered or (self.progress.open is not None and self.progress.open.heard):
                self._grader_gone(step["text"], "died")
            if self.rehearsal and step["lacking"]:
                raise UserError(self._lacks(legible(step["lacking"], keep=""), legible(step["python"], keep="")))
            raise GraderError(legible(f"{self._where()}: {step['text']}"))
        elif op == "done" or (op == "ready" and self.rehearsal):
            return True
        else:
            raise GraderError(f"{self._where()}: the grader reports {op!r}, which is no step")
        return False

    def _lacks(self, module: str, python: str) -> str:
        environment = self.task.environment
        if self.sandbox.name == "docker":
            where, step = (
                f"{python} of its image",
                "add it to the task's environment/requirements.txt, or name an image that has it",
            )
        else:
            option = f"--recode-env={environment.name}=PATH" if environment.name else "--recode-python=PATH"
            where, step = python, f"install it there, or name another interpreter with {option}"
        return (
            f"task {self.task.id}: its tests or its reference import {module}, which {where} does not have: {step}"
            " (nothing was asked of a model)"
        )

    def _collected(self, cases: list[dict[str, str]]) -> None:
        found = {case["id"]: case["interface"] for case in cases}
        if len(found) < len(cases):
            twice = next(case["id"] for n, case in enumerate(cases) if case in cases[:n])
            raise GraderError(f"{self._where()}: two cases have the id {twice}")
        if not found:
            raise GraderError(f"{self._where()}: no hidden test was found there; write them as test_*.py::test_*")
        if self.progress.interfaces and self.progress.interfaces != found:
            text = (
                "not run: a candidate's answers ended the grader, and collected again the tests are not the same cases"
            )
            self._close_rest("died", text)
        self.progress.interfaces = found

    def _started(self, case: str) -> None:
        if case not in self.progress.interfaces or case in self.progress.cases or self.progress.open:
            raise GraderError(f"{self._where()}: {case} was started out of turn")
        self.progress.open = OpenCase(id=case, since=time.monotonic())
        interface = self.progress.interfaces[case]
        if self.fresh is Fresh.CASE or (self.fresh is Fresh.INTERFACE and interface != self.interface):
            self.line.end()
        self.interface = interface
        left = [name for name in self.progress.interfaces if name not in self.progress.cases and name != case]
        changes = any(self.progress.interfaces[name] != interface for name in left)
        self.line.another = bool(left) if self.fresh is Fresh.CASE else changes and self.fresh is Fresh.INTERFACE

    def _finished(self, step: Mapping[str, Any]) -> None:
        case = self.progress.open
        if case is None or case.id != step["id"]:
            raise GraderError(f"{self._where()}: {step['id']} was finished out of turn")
        outcome = Outcome(step["outcome"])
        if outcome is Outcome.ERROR:
            self._unheard(f"{self._where()}: {case.id} gives no verdict: {step['message']}")
        told = step["exception"]
        exception = None
        if told:
            frames = tuple(legible(frame, keep="") for frame in told["frames"])
            exception = Exc(type=legible(told["type"], keep=""), message=legible(told["message"]), frames=frames)
        if outcome is Outcome.PASSED and case.lost:  # what happened here outranks what the test made of it
            outcome, step = Outcome.FAILED, {"kind": case.lost.kind, "message": case.lost.text, "junit": "failure"}
        self._close(case, outcome, step["kind"], step["message"], exception, junit=step.get("junit", "failure"))
        if case.lost or step["kind"] == "protocol":
            self.line.end()
        self._stop_if(failed=outcome is Outcome.FAILED)

    def _close(
        self,
        case: OpenCase,
        outcome: Outcome,
        kind: str,
        text: str,
        exception: Exc | None = None,
        *,
        junit: str = "failure",
    ) -> None:
        self.progress.open = None
        seconds = time.monotonic() - case.since
        self.heard_seconds += seconds if case.heard else 0.0
        self.answered = self.answered or case.heard
        self.progress.cases[case.id] = Case(
            id=case.id,
            interface=self.progress.interfaces[case.id],
            outcome=outcome,
            kind=kind,
            message=legible(text),
            exception=exception,
            seconds=seconds,
            junit=junit,
        )

    def _check_complete(self) -> None:
        missing = [case for case in self.progress.interfaces if case not in self.progress.cases]
        if not self.progress.interfaces or missing:
            left = f": {', '.join(missing[:5])} never ran" if missing else ": nothing was collected"
            self._grader_gone(f"the grader ended before its time{left}", "died")


class _GraderGoneError(Exception):
    """This grader is done for; the cases it leaves are another's."""


def _candidate_entropy(seed: int) -> int:
    """For the candidate's global random generators: repeats with the seed and tells nothing of it."""
    return int.from_bytes(hashlib.sha256(f"candidate\n{seed}".encode()).digest()[:16], "big")
