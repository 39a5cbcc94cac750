"""Separate judging: launches the grader, reads the steps it sends, and makes the verdict.

Runs on the host. The grader holds the hidden tests, the candidate process the code under test; `switchboard.py`
connects them. Exactly one of the two holds the turn, and whoever holds it when a limit passes is at fault.

Longer than 350 lines because it is one state machine: each step and each way to end is handled by the state of the
running case and of the grader, and parts of it would share all of that state.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby, takewhile
from operator import itemgetter
from typing import NoReturn

from pytest_recode.faults import GraderError, SandboxError, UserError
from pytest_recode.inside.wire import frames, messages
from pytest_recode.oracle.kept_graders import CaseList, KeptGraders
from pytest_recode.oracle.patience import Patience
from pytest_recode.oracle.programs import GRADER, import_roots
from pytest_recode.oracle.steps import exception_of
from pytest_recode.oracle.switchboard import (
    START_SECONDS,
    OpenCase,
    Switchboard,
    how_it_ended,
    launch,
    not_if_disk_was_full,
    not_if_stopped_since,
)
from pytest_recode.sandboxes import Connection, Sandbox
from pytest_recode.task import Files, Limits, Parts, Task, candidate_files
from pytest_recode.verdict import Case, Exc, Outcome, Verdict, legible

STEP_LIMIT = 64 << 20  # bytes of a message from the grader to the host
EVERY_CASE = "*"
"""In place of the id of the case to shift: each case is shifted, which shows those in which right code then fails."""


class Fresh(StrEnum):
    """How long one candidate process lives at most. One that gave no answer is always replaced after its case."""

    CASE = "case"
    INTERFACE = "interface"
    GRADING = "grading"


def judge_separate(
    task: Task,
    parts: Parts,
    targets: Files,
    sandbox: Sandbox,
    *,
    seed: int,
    fresh: Fresh,
    stop_at_failure: bool = False,
    still_run: frozenset[str] = frozenset(),
    only: Sequence[str] | None = None,
    graders: KeptGraders | None = None,
    shifted: str = "",
) -> Verdict:
    """As `judge.judge`, for a task whose tests run in a sandbox of their own."""
    return _SeparateGrading(
        task, parts, targets, sandbox, seed, fresh, stop_at_failure, still_run, only, graders, shifted
    ).run()


def check_separate(task: Task, parts: Parts, sandbox: Sandbox) -> None:
    """As `judge.check`: collect the tests and import the reference in a grader, and run no test."""
    _SeparateGrading(task, parts, {}, sandbox, 0, Fresh.GRADING).rehearse()


@dataclass(slots=True, kw_only=True)
class _Progress:
    """The cases and their outcomes so far, over all graders."""

    interfaces: Mapping[str, str] = field(default_factory=dict)  # by case id, in the order of collection
    blocks: Mapping[str, int] = field(
        default_factory=dict
    )  # by case id; neighbours with the same interface are a block
    cases: dict[str, Case] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    open: OpenCase | None = None


class _SeparateGrading:
    def __init__(
        self,
        task: Task,
        parts: Parts,
        targets: Files,
        sandbox: Sandbox,
        seed: int,
        fresh: Fresh,
        stop_at_failure: bool = False,
        still_run: frozenset[str] = frozenset(),
        only: Sequence[str] | None = None,
        graders: KeptGraders | None = None,
        shifted: str = "",
    ) -> None:
        self.task = task
        self.limits: Limits = task.limits
        self.sandbox = sandbox
        self.seed = seed
        self.fresh = fresh
        self.stop_at_failure = stop_at_failure
        self.still_run = still_run
        self.only = only
        self.graders = graders
        self.shifted = shifted
        self.parts = parts
        self.reference_passed: dict[int, bool] = {}  # by block, where that decides who is at fault
        self.tests = parts.tests
        self.reference = {**parts.repo, **parts.reference}
        self.progress = _Progress()
        self.start = time.monotonic()
        self.block = 0  # that of the cases which the current grader runs
        self.order: list[str] = []  # of these cases
        self.collected_blocks: set[int] = set()  # those whose graders have collected the tests
        files = candidate_files(parts, targets, task.targets)
        self.is_reference = files == candidate_files(parts, parts.reference, task.targets)
        entropy = _candidate_entropy(seed)
        deadline = self.start + task.limits.grading_seconds
        self.switchboard = Switchboard(sandbox, task.environment, task.limits, files, entropy, deadline)
        self.answered_seconds = 0.0  # time of the cases that an answer of the candidate's reached or may have disturbed
        self.answered_before = False  # whether a candidate answered in an earlier case of the current grader
        self.extended = False  # whether the grading has been given its time again
        self.rehearsal = False
        self.versions: Mapping[str, str] = {}

    def run(self) -> Verdict:
        """Judge every case: with one grader for each block, or more where a candidate's answers may have disturbed one."""
        self._check_tests()
        if self.graders is not None and self.graders.collected is not None:
            self._take_note(self.graders.collected)
        try:
            while not self.progress.interfaces or self._cases_left():
                try:
                    self._grade()
                except _NoVerdictError as fault:
                    self._fail_or_raise(fault)
        finally:
            self.switchboard.close()
        progress = self.progress
        return Verdict(
            cases=tuple(progress.cases[case] for case in progress.interfaces),
            seed=self.seed,
            seconds=time.monotonic() - self.start,
            isolation=self.sandbox.isolation,
            versions=self.versions,
            scores=progress.scores,
            shifted=self.shifted,
        )

    def rehearse(self) -> None:
        """Collect the tests and import the reference in a grader; run no test."""
        self._check_tests()
        self.rehearsal = True
        try:
            self._grade()
        finally:
            self.switchboard.close()

    def _check_tests(self) -> None:
        if not self.tests:
            raise GraderError(f"{self._tests_path()}: there are no hidden tests; write them as tests/test_*.py")

    def _tests_path(self) -> str:
        return str(self.task.manifest.parent / "tests")

    # the grader

    def _grade(self) -> None:
        """Run one grader to its end, on the cases of one block."""
        self.block, self.order = self._next_block()
        grader = self._kept_grader() or self._new_grader()
        keep = False
        try:
            self._follow(grader)
            if not self.rehearsal:
                self._check_complete()
            keep = self.graders is not None
        except _GraderEndedError:
            pass
        finally:
            self.switchboard.end()
            if keep and self.graders is not None:
                self.graders.put(self.seed, self.block, grader)
            else:
                grader.kill()

    def _cases_left(self) -> list[str]:
        """The cases without an outcome, in the order to run them."""
        order = self.progress.interfaces if self.only is None else self.only
        return [case for case in order if case in self.progress.interfaces and case not in self.progress.cases]

    def _next_block(self) -> tuple[int, list[str]]:
        """The block that runs next, and those of its cases that run before a case of another one. Before the tests are collected: the first."""
        left, blocks = self._cases_left(), self.progress.blocks
        if not left:
            return 0, []
        block = blocks[left[0]]
        return block, list(takewhile(lambda case: blocks[case] == block, left))

    def _kept_grader(self) -> Connection | None:
        """The grader of earlier answers, with the order to run cases once more; None if there is none, or it has ended."""
        grader = self.graders.take(self.seed, self.block) if self.graders is not None else None
        if grader is None:
            return None
        try:
            self._order(grader)
        except (ConnectionError, TimeoutError):
            grader.kill()
            return None
        self.answered_before = True
        return grader

    def _new_grader(self) -> Connection:
        self.answered_before = False
        launching = time.monotonic()
        grader = launch(self.sandbox, GRADER, self.task.environment, self.limits)
        self.switchboard.deadline += time.monotonic() - launching  # not counted: an image may have to be built
        start: messages.GraderStart = {
            "tests": dict(self.tests),
            "reference": self.reference,
            "roots": import_roots(self.reference),
            "interfaces": list(self.task.interfaces),
            "seed": self.seed,
            "block": self.block,
            "limit": self.switchboard.answer_limit,
            "rehearsal": self.rehearsal,
            "several": self.graders is not None,
        }
        try:
            frames.send_message(grader, start, time.monotonic() + START_SECONDS)
        except (ConnectionError, TimeoutError):
            how = grader.kill()
            not_if_disk_was_full("grader", how)
            raise SandboxError(f"the grader did not read the task's files{f': it {how}' if how else ''}") from None
        return grader

    def _order(self, grader: Connection) -> None:
        """Order a grader that has collected the tests to run cases. Raises `ConnectionError`, `TimeoutError`."""
        run: messages.GraderRun = {
            "only": self.order,
            "stop_at_failure": self.stop_at_failure,
            "still_run": sorted(self.still_run),
            "shifted": self.order if self.shifted == EVERY_CASE else [self.shifted] * bool(self.shifted),
        }
        frames.send_message(grader, dict(run), time.monotonic() + START_SECONDS)

    def _follow(self, grader: Connection) -> None:
        """Read steps until the grader is done. Raises `_GraderEndedError` where another grader has to judge the rest."""
        patience = Patience(
            grader,
            "grader",
            self.limits,
            lambda seconds: self.switchboard.put_off(self.progress.open, seconds),
            lambda seconds: self.switchboard.put_off(None, seconds),
            used=self._candidate_used,
        )
        while True:
            patience.begin(self.progress.open.id if self.progress.open else "")
            deadline = self._grader_deadline()
            fill = frames.connection_filler(patience, deadline)
            try:
                frame = frames.fill_prefix(fill, 1 << 40)
                if frame.kind == frames.TO_CANDIDATE:
                    if self.progress.open is None:
                        raise GraderError(
                            f"{self._tests_path()}: the candidate is called while no test runs; call it in a test or a fixture"
                        )
                    self.switchboard.exchange(patience, frame, self.progress.open)
                    continue
                if frame.header + frame.body > STEP_LIMIT:
                    raise GraderError(
                        f"{self._tests_path()}: the grader sent a message of more than {STEP_LIMIT >> 20} MiB"
                    )
                message = frames.fill_message(fill, frame)
                if self._step(message, grader):
                    return
            except TimeoutError:
                not_if_stopped_since(self.start)
                self._grader_ended(f"the test did not end within {self.limits.test_seconds:g} s", "timeout")
            except (EOFError, ConnectionError):
                how = how_it_ended(grader) or "closed its pipe"
                not_if_disk_was_full("grader", how)
                self._grader_ended(f"the grader {how}", "died")
            except frames.WireError as error:
                self._grader_ended(f"the grader sent a malformed message ({error})", "died")

    def _candidate_used(self, since: float) -> float | None:
        """The CPU seconds of the candidate's processes, which may be what the grader waits for; None if they are unknown."""
        candidate = self.switchboard.candidate
        return 0.0 if candidate is None else candidate.used(since)

    def _grader_deadline(self) -> float:
        case = self.progress.open
        if case is None:
            return self.switchboard.deadline
        return min(self.switchboard.deadline, case.since + case.candidate_seconds + self.limits.test_seconds)

    def _grader_ended(self, text: str, kind: str) -> NoReturn:
        """Handle a grader that hangs or has ended.

        If an answer of the candidate's reached the running case, that answer counts as the cause: the reference has
        passed this test, and otherwise a candidate could turn failures into errors by what it returns.
        """
        case = self.progress.open
        late = time.monotonic() >= self.switchboard.deadline
        if late:
            text = f"the grading did not end within {self.limits.grading_seconds:g} s"
        if case is None or not case.answered:
            where = f"{self._tests_path()}: {case.id}" if case else self._tests_path()
            self._without_answer(f"{where}: {text}; no answer of the candidate's can be the cause", late=late)
        if case.no_answer is not None:
            kind, text = case.no_answer.kind, case.no_answer.text
        else:
            text = f"{text}, after the test received the candidate's answers"
        self._close(case, Outcome.FAILED, kind, text)
        if late:
            self._out_of_time()
        self._stop_if(failed=True, kind=kind)
        raise _GraderEndedError

    def _without_answer(self, text: str, *, late: bool = False) -> NoReturn:
        """Handle a failure that no answer of the candidate's in this case can have caused.

        An answer in an earlier case of the same grader can be the cause (memory, disk, state that the tests keep), and
        the time that earlier answers took, also to another grader. Then a new grader, in which no candidate has answered
        yet, runs the case again.
        """
        case = self.progress.open
        if late and self.answered_seconds * 2 >= self.limits.grading_seconds:
            self._out_of_time()
        if not (self.answered_before or (late and self.answered_seconds)):
            raise _NoVerdictError(legible(text))
        if late and self.extended:
            self._out_of_time()
        if late:
            self.extended = True
            self.switchboard.deadline = time.monotonic() + self.limits.grading_seconds
        if case is not None:
            self.answered_seconds += time.monotonic() - case.since
            self.progress.open = None
        raise _GraderEndedError

    def _fail_or_raise(self, fault: _NoVerdictError) -> None:
        """Fail the running case if the reference passes where the candidate got no verdict; raise the fault otherwise.

        What the tests keep of an answer, or lack because an answer ended their grader, can leave a later case without a verdict.
        """
        case = self.progress.open
        if case is None or not (case.answered or self.answered_seconds) or not self._reference_passes():
            raise fault
        self._close(case, Outcome.FAILED, "assertion", f"{fault}\n\nThe reference passes this case.")
        self._stop_if(failed=True, kind="assertion")

    def _reference_passes(self) -> bool:
        """Whether the reference passes the cases of this block with the same seed, in sandboxes of its own."""
        if self.is_reference:
            return False
        if self.block not in self.reference_passed:
            began = time.monotonic()
            order = self.progress.interfaces if self.only is None else self.only
            cases = [case for case in order if self.progress.blocks.get(case) == self.block]
            try:
                verdict = judge_separate(
                    self.task,
                    self.parts,
                    self.parts.reference,
                    self.sandbox,
                    seed=self.seed,
                    fresh=self.fresh,
                    stop_at_failure=True,
                    only=cases,
                )
                self.reference_passed[self.block] = verdict.passed == len(cases)
            except GraderError:
                self.reference_passed[self.block] = False
            self.switchboard.deadline += time.monotonic() - began
        return self.reference_passed[self.block]

    def _out_of_time(self) -> NoReturn:
        """The candidate used up the time of the grading: the remaining cases fail without being run."""
        self._close_rest("timeout", f"not run: the grading's {self.limits.grading_seconds:g} s were used up")

    def _stop_if(self, *, failed: bool, kind: str) -> None:
        """Fail the cases that do not run after a failure. The grader leaves them out by itself.

        After one that was too slow, none runs: each of them would use up its time, too.
        """
        if failed and self.stop_at_failure:
            if kind == "timeout":
                self._close_rest("", "not run: an earlier case was too slow")
            self._close_all("", "not run: an earlier case failed", without=self.still_run)

    def _close_rest(self, kind: str, text: str) -> NoReturn:
        self._close_all(kind, text)
        raise _GraderEndedError

    def _close_all(self, kind: str, text: str, *, without: frozenset[str] = frozenset()) -> None:
        """Fail the cases that have no outcome yet, but for those of `without`."""
        for case in self.progress.interfaces:
            if case not in self.progress.cases and case not in without:
                self._close(_not_run(case), Outcome.FAILED, kind, text, ran=False)

    # the steps that it sends

    def _step(self, message: object, grader: Connection) -> bool:
        """Handle one step. Returns whether it was the last."""
        try:
            step = messages.grader_step(message)
        except messages.MessageError as error:
            raise GraderError(f"{self._tests_path()}: the grader sent a wrong message: {error}") from None
        if step["op"] == "collected":
            self._collected(step)
            if not self.rehearsal:
                self._order(grader)
        elif step["op"] == "started":
            self._started(step["id"])
        elif step["op"] == "finished":
            self._finished(step)
        elif step["op"] == "broken":
            self._broken(step)
        elif step["op"] == "ready" and not self.rehearsal:
            raise GraderError(f"{self._tests_path()}: the grader sent 'ready', which only a rehearsal sends")
        else:
            return True
        return False

    def _broken(self, step: messages.Broken) -> NoReturn:
        case = self.progress.open
        if self.answered_before or (case is not None and case.answered):
            self._grader_ended(step["text"], "died")
        if self.rehearsal and step["lacking"]:
            raise UserError(self._missing(legible(step["lacking"], keep=""), legible(step["python"], keep="")))
        raise GraderError(legible(f"{self._tests_path()}: {step['text']}"))

    def _missing(self, module: str, python: str) -> str:
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
            " (no model was called)"
        )

    def _collected(self, step: messages.Collected) -> None:
        cases = step["cases"]
        interfaces = {case["id"]: case["interface"] for case in cases}
        if len(interfaces) < len(cases):
            ids = [case["id"] for case in cases]
            twice = next(case for case in ids if ids.count(case) > 1)
            raise GraderError(f"{self._tests_path()}: two cases have the id {twice}")
        if not interfaces:
            raise GraderError(f"{self._tests_path()}: no hidden test was found there; write them as test_*.py::test_*")
        if not self.progress.interfaces:
            collected = CaseList(interfaces=interfaces, versions=step["versions"])
            self._take_note(collected)
            if self.graders is not None:
                self.graders.collected = collected
        elif self.progress.interfaces != interfaces:
            self._collected_other_cases(interfaces)
        self.collected_blocks.add(self.block)
        if not self.rehearsal and not self.order:  # the first grader
            block, self.order = self._next_block()
            if block != self.block:
                raise _GraderEndedError

    def _take_note(self, collected: CaseList) -> None:
        """Take note of which cases there are. Those that are not asked for have not run."""
        self.versions = collected.versions
        self.progress.interfaces = collected.interfaces
        whole = (
            self.fresh is Fresh.GRADING
        )  # one candidate gets the cases of all blocks: one grader may run them as well
        self.progress.blocks = dict.fromkeys(collected.interfaces, 0) if whole else _blocks(collected.interfaces)
        for case in collected.interfaces:
            if self.only is not None and case not in self.only:
                self._close(_not_run(case), Outcome.FAILED, "", "not run: other cases were asked for", ran=False)

    def _collected_other_cases(self, interfaces: Mapping[str, str]) -> NoReturn:
        if self.block in self.collected_blocks:
            self._close_rest(
                "died", "not run: the candidate's answers ended the grader, and a new one collected different cases"
            )
        first = self.progress.interfaces
        name = next(
            (case for case in (*first, *interfaces) if first.get(case) != interfaces.get(case)), next(iter(interfaces))
        )
        raise GraderError(
            f"{self._tests_path()}: {name} is collected in one process and not in the next: each block of tests of an interface runs in a"
            " process of its own, with other random numbers while modules are imported; let no parameter or id of a test depend on"
            " them, on the time or on an address"
        )

    def _started(self, case: str) -> None:
        if case not in self.progress.interfaces or case in self.progress.cases or self.progress.open:
            raise GraderError(f"{self._tests_path()}: the grader started {case} out of order")
        self.progress.open = OpenCase(id=case, since=time.monotonic())
        if self.fresh is Fresh.CASE:
            self.switchboard.end()
        left = [name for name in self._cases_left() if name != case]
        changes = any(self.progress.blocks[name] != self.block for name in left)
        self.switchboard.another = bool(left) if self.fresh is Fresh.CASE else changes and self.fresh is Fresh.INTERFACE

    def _finished(self, step: messages.FinishedUsing) -> None:
        case = self.progress.open
        if case is None or case.id != step["id"]:
            raise GraderError(f"{self._tests_path()}: the grader finished {step['id']} out of order")
        outcome, kind, text, junit = Outcome(step["outcome"]), step["kind"], step["message"], step["junit"]
        if outcome is Outcome.ERROR:
            self._without_answer(f"{self._tests_path()}: {case.id} gives no verdict: {text}")
        if outcome is Outcome.PASSED and case.no_answer:  # a test that hides a missing answer does not pass
            outcome, kind, text, junit = Outcome.FAILED, case.no_answer.kind, case.no_answer.text, "failure"
        self.progress.scores.update(step["scores"])
        self._close(case, outcome, kind, text, exception_of(step["exception"]), junit=junit, uses=tuple(step["uses"]))
        if case.no_answer or kind == "protocol":
            self.switchboard.end()
        self._stop_if(failed=outcome is Outcome.FAILED, kind=kind)
        if self.stop_at_failure and (outcome is Outcome.FAILED) != (step["outcome"] == "failed"):
            raise _GraderEndedError  # it runs cases that are closed here

    def _close(
        self,
        case: OpenCase,
        outcome: Outcome,
        kind: str,
        text: str,
        exception: Exc | None = None,
        *,
        junit: str = "failure",
        uses: tuple[str, ...] | None = None,
        ran: bool = True,
    ) -> None:
        self.progress.open = None
        seconds = time.monotonic() - case.since
        self.answered_seconds += seconds if case.answered else 0.0
        self.answered_before = self.answered_before or case.answered
        self.progress.cases[case.id] = Case(
            id=case.id,
            interface=self.progress.interfaces[case.id],
            outcome=outcome,
            kind=kind,
            message=legible(text),
            exception=exception,
            seconds=seconds,
            junit=junit,
            uses=uses,
            ran=ran,
        )

    def _check_complete(self) -> None:
        missing = [case for case in self.order if case not in self.progress.cases]
        if not self.progress.interfaces or missing:
            left = f"{', '.join(missing[:5])} never ran" if missing else "it collected no cases"
            self._grader_ended(f"the grader ended too early: {left}", "died")


class _NoVerdictError(GraderError):
    """A case gave no verdict, and nothing that the candidate answered to this grader can be the cause."""


class _GraderEndedError(Exception):
    """The grader cannot go on; another one has to judge the cases without an outcome."""


def _blocks(interfaces: Mapping[str, str]) -> dict[str, int]:
    """Case -> the number of its block of neighbouring cases with the same interface."""
    groups = groupby(interfaces.items(), key=itemgetter(1))
    return {case: number for number, (_, cases) in enumerate(groups) for case, _ in cases}


def _not_run(case: str) -> OpenCase:
    return OpenCase(id=case, since=time.monotonic())


def _candidate_entropy(seed: int) -> int:
    """Entropy for the candidate's global random generators: repeatable by the seed, without revealing it."""
    return int.from_bytes(hashlib.sha256(f"candidate\n{seed}".encode()).digest()[:16], "big")
