"""Grade the answers of one check, in a grader that the checks of the task share."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from pytest_recode.faults import GraderError, SandboxError
from pytest_recode.oracle.judge import Fresh, KeptGraders, judge
from pytest_recode.oracle.solutions import judge_solution
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Parts, Task
from pytest_recode.validation.checks import Answer
from pytest_recode.validation.problems import exceeds_a_limit
from pytest_recode.verdict import Case, Outcome, Verdict


class CommonGrader:
    """What the checks of one task have in common in a process: secret seeds, a grader, and the reference's verdict.

    The grader is believed only if the reference passes in it: a library may not work in the forks in which it runs the cases.
    """

    def __init__(self, task: Task, sandbox: Sandbox, shared_verifier: bool = False) -> None:
        """`shared_verifier`: whether the task's script judges where the solution ran."""
        self.task, self.sandbox, self.shared_verifier = task, sandbox, shared_verifier
        self.graders: KeptGraders | None = KeptGraders() if task.oracle.isolation == "separate" else None
        self.reference: Verdict | None = None  # once it is graded
        self.reference_passed: bool | None = None  # in validate[reference]; None if it did not run in this process
        self.backwards: list[str] = []  # the cases in the opposite order, once validate[reference] has passed
        self.independent: bool | None = None  # whether the cases need no others; None if it is not known
        self.stateless: bool | None = None  # whether the repository keeps nothing from one interface to the next
        self._seeds: list[int] = []

    def seeds(self, count: int) -> list[int]:
        """The first `count` secret seeds of the task."""
        while len(self._seeds) < count:
            self._seeds.append(secrets.randbits(48))
        return self._seeds[:count]

    def validated(self, verdicts: Sequence[Verdict]) -> None:
        """Take note of the verdicts of validate[reference]. A reference that is too slow is not graded again."""
        self.reference_passed = all(verdict.solved for verdict in verdicts)
        if self.reference_passed:
            self.backwards = _backwards(verdicts[0])
        if self.reference is None and exceeds_a_limit(verdicts[-1]):
            self.close()
            self.graders, self.reference = None, verdicts[-1]

    def close(self) -> None:
        """End the grader; idempotent."""
        if self.graders is not None:
            self.graders.close()


class Gradings:
    """Grades the answers of one check, and records the time of the slowest grading."""

    def __init__(self, parts: Parts, common: CommonGrader, graded: Callable[[], None]) -> None:
        self._parts, self.common, self._graded = parts, common, graded
        self.seconds = 0.0
        self.isolation = common.sandbox.isolation

    def reference(self, seed: int) -> Verdict:
        """The reference's verdict, with `seed` if this is the first call for the task. Raises `GraderError`, `SandboxError`."""
        common = self.common
        if common.reference is None:
            common.reference = self._reference(seed)
        return common.reference

    @property
    def _reference_answer(self) -> Answer:
        return Answer(name="the reference", targets=self._parts.reference)

    def _reference(self, seed: int) -> Verdict:
        """In the common grader, if it passes there. Backwards if that is possible, which also shows whether its cases are independent."""
        answer, common = self._reference_answer, self.common
        if common.graders is not None:
            for only in (common.backwards, None) if common.backwards else (None,):
                with suppress(GraderError, SandboxError):
                    verdict = self._judge(answer, seed, common.graders, only=only)
                    if verdict.solved:
                        if common.backwards:
                            common.independent = only is not None
                        return verdict
            common.close()
            common.graders = None  # each answer gets a grader of its own
        return self.alone(answer, seed)

    def cases_are_independent(self, seed: int) -> bool:
        """Whether the reference also passes if the cases run in the opposite order: each without those that are before it.

        If not, a case may fail because others did not run, and not because of the answer.
        """
        common = self.common
        if common.task.oracle.isolation != "separate":
            return True  # all cases run, whatever is asked for
        if common.independent is None:
            backwards = _backwards(self.reference(seed))
            try:
                common.independent = self.verdict(self._reference_answer, seed, only=backwards).solved
            except (GraderError, SandboxError):
                common.independent = False
        return common.independent

    def constant(self, answer: Answer, seed: int) -> Verdict:
        """The verdict of a constant answer, which keeps nothing from one call to the next.

        One candidate process serves all interfaces, unless the first such answer fails otherwise in it: then the repository keeps something.
        """
        common = self.common
        if common.stateless:
            return self.verdict(answer, seed, fresh=Fresh.GRADING)
        verdict = self.verdict(answer, seed)
        if common.stateless is None:
            try:
                common.stateless = _ways(verdict) == _ways(self.verdict(answer, seed, fresh=Fresh.GRADING))
            except (GraderError, SandboxError):
                common.stateless = False
        return verdict

    def alone(self, answer: Answer, seed: int) -> Verdict:
        """Grade an answer in a grader of its own, as in an episode. Raises `GraderError`, `SandboxError`."""
        return self._judge(answer, seed, None)

    def solution(self, seed: int, *, solved: bool, shared: bool | None = None) -> Verdict:
        """The verdict of what the task's solution leaves, or (not `solved`) of nothing at all. Raises `GraderError`, `SandboxError`."""
        common = self.common
        shared = common.shared_verifier if shared is None else shared
        start = time.monotonic()
        verdict = judge_solution(common.task, self._parts, common.sandbox, seed=seed, solved=solved, shared=shared)
        self.seconds = max(self.seconds, time.monotonic() - start)
        self.isolation = verdict.isolation
        self._graded()
        return verdict

    def verdict(
        self,
        answer: Answer,
        seed: int,
        *,
        only: Sequence[str] | None = None,
        stop_at_failure: bool = False,
        still_run: Collection[str] = (),
        test_seconds: float | None = None,
        fresh: Fresh = Fresh.INTERFACE,
    ) -> Verdict:
        """Grade an answer in the common grader. The options are those of `judge`; `test_seconds`: the limit of each test.

        Raises `GraderError`, `SandboxError`.
        """
        judged = partial(
            self._judge,
            answer,
            seed,
            only=only,
            stop_at_failure=stop_at_failure,
            still_run=still_run,
            test_seconds=test_seconds,
            fresh=fresh,
        )
        if self.common.graders is not None:
            self.reference(seed)
        graders = self.common.graders
        if graders is not None:
            try:
                return judged(graders)
            except (GraderError, SandboxError):
                graders.close()  # raised again below, unless it is due to the common grader
        return judged(None)

    def _judge(
        self,
        answer: Answer,
        seed: int,
        grader: KeptGraders | None,
        *,
        only: Sequence[str] | None = None,
        stop_at_failure: bool = False,
        still_run: Collection[str] = (),
        test_seconds: float | None = None,
        fresh: Fresh = Fresh.INTERFACE,
    ) -> Verdict:
        task = self.common.task
        if test_seconds is not None:
            task = replace(task, limits=replace(task.limits, test_seconds=test_seconds))
        start = time.monotonic()
        verdict = judge(
            task,
            self._parts,
            answer.targets,
            self.common.sandbox,
            seed=seed,
            fresh=fresh,
            stop_at_failure=stop_at_failure,
            still_run=still_run,
            only=only,
            graders=grader,
        )
        self.seconds = max(self.seconds, time.monotonic() - start)
        self.isolation = verdict.isolation
        self._graded()
        return verdict


def failing(verdict: Verdict) -> list[Case]:
    """The cases that ran and did not pass."""
    return [case for case in verdict.cases if case.ran and case.outcome is not Outcome.PASSED]


def _backwards(verdict: Verdict) -> list[str]:
    """The cases in the opposite order."""
    return [case.id for case in reversed(verdict.cases)]


def _ways(verdict: Verdict) -> list[tuple[str, str, str]]:
    """How the cases ended."""
    return [(case.id, case.kind, case.exception.type if case.exception else "") for case in verdict.cases]
