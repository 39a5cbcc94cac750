"""Grade the answers of one check."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeVar

from pytest_recode.faults import GraderError, SandboxError
from pytest_recode.oracle.judge import KeptGrader, judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Parts, Task
from pytest_recode.validation.checks import Answer
from pytest_recode.verdict import Case, Outcome, Verdict

T = TypeVar("T")


class Gradings:
    """Grades the answers of one check, and records the time of the slowest grading."""

    def __init__(self, task: Task, parts: Parts, sandbox: Sandbox, graded: Callable[[], None]) -> None:
        self._task, self._parts, self._sandbox, self._graded = task, parts, sandbox, graded
        self.seconds = 0.0
        self.isolation = sandbox.isolation
        self._kept: KeptGrader | None = None

    def several(self, seed: int, grade: Callable[[Verdict], T]) -> T:
        """Call `grade` with the reference's verdict, to grade many answers with `seed`, and return its result.

        One grader collects the tests for all of them. If the reference does not pass in it, because a library does not work in the
        forks in which it runs the cases, each answer gets a new grader.
        """
        reference = Answer(name="the reference", targets=self._parts.reference)
        self._kept = KeptGrader()
        try:
            first = self.verdict(reference, seed)
            if first.solved:
                return grade(first)
        except (GraderError, SandboxError):
            pass  # raised again below, unless it is due to the common grader
        finally:
            self._kept.close()
            self._kept = None
        return grade(self.verdict(reference, seed))

    def verdict(
        self,
        answer: Answer,
        seed: int | None,
        mutant_seconds: float | None = None,
        still_run: Collection[str] = (),
        only: Collection[str] | None = None,
    ) -> Verdict:
        """Grade an answer. `mutant_seconds`: the limit of each test of a mutant, whose grading stops at the first failed case.

        `still_run`: cases that run also after a failure. `only`: the cases that run, if not all.
        """
        task = self._task
        if mutant_seconds is not None:
            task = replace(task, limits=replace(task.limits, test_seconds=mutant_seconds))
        start = time.monotonic()
        alone = mutant_seconds is not None
        verdict = judge(
            task,
            self._parts,
            answer.targets,
            self._sandbox,
            seed=seed,
            stop_at_failure=alone,
            still_run=still_run,
            only=only,
            kept=self._kept,
        )
        self.seconds = max(self.seconds, time.monotonic() - start)
        self.isolation = verdict.isolation
        self._graded()
        return verdict


def failing(verdict: Verdict) -> list[Case]:
    """The cases that ran and did not pass."""
    return [case for case in verdict.cases if case.ran and case.outcome is not Outcome.PASSED]
