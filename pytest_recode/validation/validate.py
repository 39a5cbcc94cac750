"""Run one check of a task, and describe what it found."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_recode.faults import GraderError, SandboxError
from pytest_recode.feedback.audit import leaks_of
from pytest_recode.proofs import WrongAnswer
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Task
from pytest_recode.validation.canary import canary_problem
from pytest_recode.validation.checks import Answer, Check, proofs_of
from pytest_recode.validation.gradings import Gradings, failing
from pytest_recode.validation.mutation_check import check_mutants
from pytest_recode.validation.requirements import unmet
from pytest_recode.validation.result import Difference, Validation
from pytest_recode.validation.seeds import differing
from pytest_recode.validation.sentences import unquoted
from pytest_recode.verdict import Case, Outcome, Verdict, legible

ENOUGH = 3
"""An answer that must pass and fails under each of this many seeds is not graded again."""


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
    gradings = Gradings(task, parts, sandbox, graded)
    if check.mutated:
        return check_mutants(task, check, parts, proofs, gradings, seed)
    problems, warnings = [], []
    differences: list[Difference] = []
    noticed = 0
    outcomes: dict[str, bool] = {}  # whether a case ever failed
    count = seeds if check.seeded and seed is None else 1
    answers = check.answers(task, parts, proofs)
    graded_answers = _verdicts(task, check, answers, gradings, seed, count)
    for answer, verdicts in zip(answers, graded_answers, strict=True):
        noticed += sum(not verdict.solved for verdict in verdicts)
        for verdict in verdicts:
            failed = {case.id for case in failing(verdict)}
            outcomes |= {case.id: outcomes.get(case.id, False) or case.id in failed for case in verdict.cases}
        found = differing(answer.name, verdicts)
        differences += found
        if problem := next(filter(None, (_problem(task, check, answer, each) for each in verdicts)), None):
            problems.append("\n\n".join([problem.text, *(each.text for each in found), *problem.account]))
        passing = [case.id for case in verdicts[-1].cases if case.outcome is Outcome.PASSED]
        if passing and check.means_nothing and not task.oracle.script:
            warnings.append(f"{answer.name} passes {', '.join(passing)}")
    right = len(answers) - len(problems)
    if check.name == "reference":
        warnings += [*leaks_of(parts), *unmet(task, sandbox)]
        problems += filter(None, [canary_problem(task)])
    return Validation(
        check=check.name,
        problem=legible("\n\n".join(problems)),
        warning="; ".join(warnings),
        seconds=gradings.seconds,
        isolation=gradings.isolation,
        answers=len(answers),
        right=right,
        seeds=count,
        noticed=noticed if check.must_solve is None else 0,
        tried=len(answers) if check.must_solve is None else 0,
        differences=tuple(differences),
        cases=tuple(outcomes),
        failed=tuple(case for case in outcomes if outcomes[case]) if check.name == "wrong" else None,
        unquoted=unquoted(parts.instruction, [wrong.requirement for wrong in proofs.wrong])
        if check.name == "wrong" and proofs.wrong
        else None,
    )


def _verdicts(
    task: Task, check: Check, answers: Sequence[Answer], gradings: Gradings, seed: int | None, count: int
) -> list[list[Verdict]]:
    """The verdicts of each answer under the same `count` seeds, or under fewer if it is certain that it does not pass: see `ENOUGH`."""
    verdicts: list[list[Verdict]] = [[] for _ in answers]
    for _ in range(count):
        chosen = secrets.randbits(48) if seed is None else seed
        left = [
            number for number, earlier in enumerate(verdicts) if not _settled(task, check, answers[number], earlier)
        ]

        def graded(reference: Verdict | None, chosen: int = chosen, left: Sequence[int] = left) -> list[Verdict | None]:
            cases = reference.cases if reference else ()
            return [
                _verdict(task, check, answers[number], gradings, chosen, verdicts[number], cases) for number in left
            ]

        # Failures of answers that must pass are shown, so these are graded as in an episode
        alone = check.must_solve is not False or len(answers) == 1
        found = graded(None) if alone else gradings.several(chosen, graded)
        for number, verdict in zip(left, found, strict=True):
            verdicts[number] += [verdict] if verdict else []
    return verdicts


def _settled(task: Task, check: Check, answer: Answer, earlier: Sequence[Verdict]) -> bool:
    """Whether it is certain that an answer that must pass does not."""
    return bool(check.must_solve) and len(earlier) >= ENOUGH and not any(verdict.solved for verdict in earlier)


def _verdict(
    task: Task,
    check: Check,
    answer: Answer,
    gradings: Gradings,
    seed: int,
    earlier: Sequence[Verdict],
    cases: Sequence[Case],
) -> Verdict | None:
    """The next verdict of `answer`. None if there is none, and an earlier one already is not as it must be."""
    only = _relevant(answer, earlier, cases)
    try:
        verdict = gradings.verdict(answer, seed, only=only)
        return verdict if only is None or failing(verdict) else gradings.verdict(answer, seed)
    except (GraderError, SandboxError):
        if all(_problem(task, check, answer, verdict) is None for verdict in earlier):
            raise
        return None


def _relevant(answer: Answer, earlier: Sequence[Verdict], cases: Sequence[Case]) -> set[str] | None:
    """The cases that decide about a wrong answer: those of its interface under the first seed, then those of its requirement.

    None: all, also where there are none of them or `cases`, those of the task, are not known yet.
    """
    violated = answer.violates
    if violated is None:
        return None
    if earlier:
        return {case.id for case in cases if _is_about(case, violated)} or None
    return {case.id for case in cases if case.interface == violated.interface} or None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """The error of the task that a verdict shows. `account`: the failed cases with their messages."""

    text: str
    account: tuple[str, ...] = ()


def _problem(task: Task, check: Check, answer: Answer, verdict: Verdict) -> _Problem | None:
    repeat = f"seed {verdict.seed} (repeat it with --recode-seed={verdict.seed})"
    if check.must_solve is None:
        return None
    if check.must_solve:
        return None if verdict.solved else _unsolved_problem(task, check, answer, verdict, repeat)
    if answer.violates is not None:
        return _violation_problem(task, answer, answer.violates, verdict, repeat)
    if not verdict.solved:
        return None
    if task.oracle.script:
        return _Problem(text=f"{task.id}: the tests pass with {answer.name}: they do not test it (a weak oracle).")
    return _Problem(
        text=f"{task.id}: {answer.name} solves the task: its tests prove nothing. "
        "Add cases that only a right implementation passes."
    )


def _unsolved_problem(task: Task, check: Check, answer: Answer, verdict: Verdict, repeat: str) -> _Problem:
    if verdict.tampering:
        return _Problem(text=f"{task.id}: {answer.name} is taken for tampering: {'; '.join(verdict.tampering)}")
    failed = [case for case in verdict.cases if case.outcome is not Outcome.PASSED]
    return _Problem(
        text=f"{task.id}: {answer.name} fails {len(failed)} of {len(verdict.cases)} cases with {repeat}. "
        f"Correct {'the reference' if check.name == 'reference' else 'the answer'} or its tests.",
        account=tuple(f"{case.id} ({case.interface})\n{case.message}" for case in failed),
    )


def _violation_problem(
    task: Task, answer: Answer, wrong: WrongAnswer, verdict: Verdict, repeat: str
) -> _Problem | None:
    requirement = f"{wrong.requirement!r} ({wrong.interface})"
    if verdict.solved:
        return _Problem(
            text=f"{task.id}: {answer.name} solves the task with {repeat}, although it violates {requirement}. "
            "Add a case that fails for it under every seed."
        )
    failed = [case for case in verdict.cases if case.outcome is not Outcome.PASSED]
    if any(_is_about(case, wrong) for case in failed):
        return None
    wanted = f"none of {', '.join(wrong.cases)}" if wrong.cases else f"no case of {wrong.interface}"
    return _Problem(
        text=f"{task.id}: {answer.name} fails with {repeat}, but in {wanted}: it violates {requirement}, and fails "
        f"{', '.join(case.id for case in failed)}. Add a case about the requirement, or correct requirement.yaml."
    )


def _is_about(case: Case, wrong: WrongAnswer) -> bool:
    function = case.id.rpartition("::")[2].partition("[")[0]
    return case.interface == wrong.interface and (not wrong.cases or function in wrong.cases)
