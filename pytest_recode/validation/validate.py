"""Run one check of a task, and describe what it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pytest_recode.feedback.audit import leaks_of
from pytest_recode.oracle.judge import judge
from pytest_recode.proofs import Proofs, WrongAnswer
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Parts, Task
from pytest_recode.validation.checks import Answer, Check, proofs_of
from pytest_recode.validation.mutants import Mutant, mutants, nearest
from pytest_recode.validation.requirements import unmet
from pytest_recode.verdict import Case, Outcome, Verdict, legible


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The result of a check. `problem` and `warning` are empty if nothing is wrong. `seconds`: the time of the slowest grading.

    `answers` counts what was graded because of the check; `noticed` and `tried` count mutants; `survivors` describes mutants that no case detected.
    """

    check: str
    problem: str
    warning: str
    seconds: float
    isolation: str
    answers: int
    noticed: int = 0
    tried: int = 0
    survivors: tuple[str, ...] = ()


class _Gradings:
    """Grades answers, and records the time of the slowest grading."""

    def __init__(self, task: Task, parts: Parts, sandbox: Sandbox, graded: Callable[[], None]) -> None:
        self._task, self._parts, self._sandbox, self._graded = task, parts, sandbox, graded
        self.seconds = 0.0
        self.isolation = sandbox.isolation

    def verdict(self, answer: Answer, seed: int | None, mutant_seconds: float | None = None) -> Verdict:
        """Grade an answer. `mutant_seconds`: the limit of each test of a mutant, whose grading stops at the first failed case."""
        task = self._task
        if mutant_seconds is not None:
            task = replace(task, limits=replace(task.limits, test_seconds=mutant_seconds))
        start = time.monotonic()
        alone = mutant_seconds is not None
        verdict = judge(task, self._parts, answer.targets, self._sandbox, seed=seed, stop_at_failure=alone)
        self.seconds = max(self.seconds, time.monotonic() - start)
        self.isolation = verdict.isolation
        self._graded()
        return verdict


def validate(
    task: Task,
    check: Check,
    sandbox: Sandbox,
    seed: int | None = None,
    seeds: int = 1,
    *,
    graded: Callable[[], None] = lambda: None,
) -> Validation:
    """Grade the answers of `check`, with `seeds` secret seeds each if it is `seeded`, or only with `seed`.

    `graded` is called after each grading. There may be a thousand, so callers should limit the time of each.

    Raises `GraderError`, `SandboxError`, `UserError`.
    """
    parts = task.load()
    proofs = proofs_of(task)
    sandbox.ready(task.environment)
    gradings = _Gradings(task, parts, sandbox, graded)
    if check.mutated:
        return _mutants(task, check, parts, proofs, gradings, seed)
    problems, warnings = [], []
    noticed = 0
    answers = check.answers(task, parts, proofs)
    for answer in answers:
        for _ in range(seeds if check.seeded and seed is None else 1):
            verdict = gradings.verdict(answer, seed)
            noticed += not verdict.solved
            if problem := _problem(task, check, answer, verdict):
                problems.append(problem)
                break
        passing = [case.id for case in verdict.cases if case.outcome is Outcome.PASSED]
        if passing and check.means_nothing and not task.oracle.script:
            warnings.append(f"{answer.name} passes {', '.join(passing)}")
    if check.name == "reference":
        warnings += [*leaks_of(parts), *unmet(task, sandbox)]
    return Validation(
        check=check.name,
        problem=legible("\n\n".join(problems)),
        warning="; ".join(warnings),
        seconds=gradings.seconds,
        isolation=gradings.isolation,
        answers=len(answers),
        noticed=noticed if check.must_solve is None else 0,
        tried=len(answers) if check.must_solve is None else 0,
    )


def _problem(task: Task, check: Check, answer: Answer, verdict: Verdict) -> str:
    """The error of the task that the verdict of `answer` shows, or ""."""
    repeat = f"seed {verdict.seed} (repeat it with --recode-seed={verdict.seed})"
    if check.must_solve is None:
        return ""
    if check.must_solve:
        if verdict.solved:
            return ""
        if verdict.tampering:
            return f"{task.id}: {answer.name} is taken for tampering: {'; '.join(verdict.tampering)}"
        failing = _failing(verdict)
        account = "\n\n".join(f"{case.id} ({case.interface})\n{case.message}" for case in failing)
        return (
            f"{task.id}: {answer.name} fails {len(failing)} of {len(verdict.cases)} cases with {repeat}. "
            f"Correct {'the reference' if check.name == 'reference' else 'the answer'} or its tests.\n\n{account}"
        )
    if answer.violates is not None:
        return _violation_problem(task, answer, answer.violates, verdict, repeat)
    if not verdict.solved:
        return ""
    if task.oracle.script:
        return f"{task.id}: the tests pass with {answer.name}: they do not test it (a weak oracle)."
    return (
        f"{task.id}: {answer.name} solves the task: its tests prove nothing. "
        "Add cases that only a right implementation passes."
    )


def _violation_problem(task: Task, answer: Answer, wrong: WrongAnswer, verdict: Verdict, repeat: str) -> str:
    requirement = f"{wrong.requirement!r} ({wrong.interface})"
    if verdict.solved:
        return (
            f"{task.id}: {answer.name} solves the task with {repeat}, although it violates {requirement}. "
            "Add a case that fails for it under every seed."
        )
    failing = _failing(verdict)
    if any(_is_about(case, wrong) for case in failing):
        return ""
    wanted = f"none of {', '.join(wrong.cases)}" if wrong.cases else f"no case of {wrong.interface}"
    return (
        f"{task.id}: {answer.name} fails with {repeat}, but in {wanted}: it violates {requirement}, and fails "
        f"{', '.join(case.id for case in failing)}. Add a case about the requirement, or correct requirement.yaml."
    )


def _failing(verdict: Verdict) -> list[Case]:
    return [case for case in verdict.cases if case.outcome is not Outcome.PASSED]


def _is_about(case: Case, wrong: WrongAnswer) -> bool:
    function = case.id.rpartition("::")[2].partition("[")[0]
    return case.interface == wrong.interface and (not wrong.cases or function in wrong.cases)


# mutants

PATIENCE = 10.0
"""A mutant's test may take this many times as long as the reference's slowest one, and at least `LEAST_SECONDS`."""
LEAST_SECONDS = 2.0


def _mutants(
    task: Task, check: Check, parts: Parts, proofs: Proofs, gradings: _Gradings, seed: int | None
) -> Validation:
    """Try the mutants of one interface's code; the first interface also covers code that interfaces share."""
    reference = gradings.verdict(Answer(name="the reference", targets=parts.reference), seed)
    if not reference.solved:
        return Validation(
            check=check.name,
            problem=f"{task.id}: mutants cannot be tried: the reference does not pass (see validate[reference]).",
            warning="",
            seconds=gradings.seconds,
            isolation=gradings.isolation,
            answers=0,
        )
    slowest = max((case.seconds for case in reference.cases), default=0.0)
    patience = min(task.limits.test_seconds, max(LEAST_SECONDS, PATIENCE * slowest))
    found = mutants(parts.reference, task.interfaces)
    first = check.mutated == task.interfaces[0]
    survivors: list[Mutant] = []
    problems = _unknown_mutants(task, proofs.equivalent, {mutant.name: mutant for mutant in found}) if first else []
    tried = 0
    for mutant in found:
        if mutant.interface != check.mutated and not (first and not mutant.interface):
            continue
        targets = {**parts.reference, mutant.path: mutant.source}
        verdict = gradings.verdict(Answer(name=mutant.name, targets=targets), seed, patience)
        if mutant.name in proofs.equivalent:
            if not verdict.solved:
                problems.append(
                    f"{task.id}: equivalent.txt:{proofs.equivalent[mutant.name]}: is not equivalent: the tests notice it "
                    f"({_failing(verdict)[0].id}, seed {verdict.seed}). Remove the line, or correct the case."
                )
            continue
        tried += 1
        if verdict.solved:
            survivors.append(mutant)
    return Validation(
        check=check.name,
        problem=legible("\n\n".join(problems)),
        warning="",
        seconds=gradings.seconds,
        isolation=gradings.isolation,
        answers=tried,
        noticed=tried - len(survivors),
        tried=tried,
        survivors=tuple(f"{mutant.diff()}\n    {mutant.name}" for mutant in survivors),
    )


def _unknown_mutants(task: Task, equivalent: Mapping[str, int], found: Mapping[str, Mutant]) -> list[str]:
    problems = []
    for name, line in equivalent.items():
        if name not in found:
            guess = nearest(name, found)
            hint = f" The nearest is: {guess}" if guess else ""
            problems.append(
                f"{task.id}: equivalent.txt:{line}: names no mutant of the reference. Copy the last line of a survivor "
                f"in the report, or remove this line.{hint}"
            )
    return problems
