"""Run one check of a task, and describe what it found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from pytest_recode.faults import GraderError, SandboxError
from pytest_recode.feedback.audit import leaks_of
from pytest_recode.proofs import WrongAnswer
from pytest_recode.task import Task
from pytest_recode.validation.canary import canary_problem
from pytest_recode.validation.checks import CANARY_CHECK, Answer, Check, proofs_of
from pytest_recode.validation.gradings import CommonGrader, Gradings, failing
from pytest_recode.validation.mutation_check import check_mutants, untried
from pytest_recode.validation.requirements import unmet
from pytest_recode.validation.result import Difference, Validation
from pytest_recode.validation.seeds import differing
from pytest_recode.validation.sentences import unquoted
from pytest_recode.validation.weak_cases import weak_cases
from pytest_recode.verdict import Case, Outcome, Verdict, legible

ENOUGH = 3
"""An answer that must pass and fails under each of this many seeds is not graded again."""


def validate(
    check: Check,
    common: CommonGrader,
    seed: int | None = None,
    seeds: int = 1,
    *,
    graded: Callable[[], None] = lambda: None,
) -> Validation:
    """Grade the answers of one check of `common.task`, with `seeds` secret seeds each if it is `seeded`, or only with `seed`.

    The caller closes `common`.

    `graded` is called after each grading. There may be a thousand, so callers should limit the time of each.

    Raises `GraderError`, `SandboxError`, `UserError`.
    """
    task = common.task
    parts = task.load()
    proofs = proofs_of(task, check.reads)
    common.sandbox.ready(task.environment)
    gradings = Gradings(parts, common, graded)
    count = seeds if check.seeded and seed is None else 1
    chosen = common.seeds(count) if seed is None else [seed]
    if check.mutated:
        return check_mutants(task, check, parts, proofs, gradings, chosen[0])
    problems: list[str] = []
    passing: dict[str, list[str]] = {}
    differences: list[Difference] = []
    noticed = 0
    outcomes: dict[str, bool] = {}  # whether a case ever failed
    answers = check.answers(task, parts, proofs)
    if any(answer.violates for answer in answers) and not gradings.reference(chosen[0]).solved:
        return untried(task, check, gradings, "wrong answers")
    graded_answers = _verdicts(task, check, answers, gradings, chosen)
    for answer, verdicts in zip(answers, graded_answers, strict=True):
        noticed += sum(not verdict.solved for verdict in verdicts)
        for verdict in verdicts:
            failed = {case.id for case in failing(verdict)}
            outcomes |= {case.id: outcomes.get(case.id, False) or case.id in failed for case in verdict.cases}
        found = differing(answer.name, verdicts)
        differences += found
        if problem := next(filter(None, (_problem(task, check, answer, each, verdicts) for each in verdicts)), None):
            problems.append("\n\n".join([problem.text, *(each.text for each in found), *problem.account]))
        passing[answer.constant or answer.name] = [
            case.id for case in verdicts[-1].cases if case.outcome is Outcome.PASSED
        ]
    warnings = weak_cases(passing) if check.means_nothing and not task.oracle.script else []
    right = len(answers) - len(problems)
    if check.name == "reference":
        warnings += [*leaks_of(parts), *unmet(task, common.sandbox)]
    if check.name == CANARY_CHECK.name:
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
    task: Task, check: Check, answers: Sequence[Answer], gradings: Gradings, seeds: Sequence[int]
) -> list[list[Verdict]]:
    """The verdicts of each answer under the same seeds, or under fewer if it is certain that it does not pass: see `ENOUGH`."""
    verdicts: list[list[Verdict]] = [[] for _ in answers]
    noticing: set[str] = set()  # the cases that failed for an answer
    for seed in seeds:
        for answer, earlier in zip(answers, verdicts, strict=True):
            if check.must_solve and _is_hopeless(earlier):
                continue
            try:
                if answer.violates is not None:
                    earlier.append(_of_wrong(gradings, answer, answer.violates, seed, noticing, first=not earlier))
                elif check.must_solve:
                    earlier += _of_right(gradings, answer, seed, alone=check.alone)
                else:
                    earlier.append((gradings.constant if answer.constant else gradings.verdict)(answer, seed))
            except (GraderError, SandboxError):
                if all(_problem(task, check, answer, verdict, earlier) is None for verdict in earlier):
                    raise
                continue  # an earlier verdict already is not as it must be
            noticing |= {case.id for case in failing(earlier[-1])}
    return verdicts


def _is_hopeless(earlier: Sequence[Verdict]) -> bool:
    """Whether it is certain that an answer does not pass."""
    return len(earlier) >= ENOUGH and not any(verdict.solved for verdict in earlier)


def _of_right(gradings: Gradings, answer: Answer, seed: int, *, alone: bool) -> list[Verdict]:
    """The verdict of an answer that must pass. If it fails in the common grader, that in one of its own, whose messages are shown.

    Both if they differ: then something else than the seed decides.
    """
    verdict = gradings.alone(answer, seed) if alone else gradings.verdict(answer, seed)
    if alone or verdict.solved:
        return [verdict]
    again = gradings.alone(answer, seed)
    return [verdict, again] if again.solved else [again]


def _of_wrong(
    gradings: Gradings, answer: Answer, violated: WrongAnswer, seed: int, noticing: Collection[str], *, first: bool
) -> Verdict:
    """The verdict of a wrong answer. The cases of its requirement decide; all run only if none of them fails.

    Under the first seed, those cases of the interface run too that are not yet in `noticing`: one that never fails proves nothing.
    """
    cases = gradings.reference(seed).cases
    decisive = {case.id for case in cases if _is_about(case, violated)}
    quiet = {case.id for case in cases if case.interface == violated.interface and case.id not in noticing}
    if decisive and gradings.cases_are_independent(seed):
        still_run = quiet if first else set()
        only = [case.id for case in cases if case.id in decisive | still_run]
        verdict = gradings.verdict(answer, seed, only=only, stop_at_failure=True, still_run=still_run)
        if _any_about(failing(verdict), violated):
            return verdict
    return gradings.verdict(answer, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """The error of the task that a verdict shows. `account`: the failed cases with their messages."""

    text: str
    account: tuple[str, ...] = ()


def _problem(
    task: Task, check: Check, answer: Answer, verdict: Verdict, verdicts: Sequence[Verdict]
) -> _Problem | None:
    """`verdicts`: those of the answer under all seeds, with `verdict`."""
    alike = sum(_alike(answer, each, verdict) for each in verdicts)
    times = f"{alike} of {len(verdicts)} seeds; " if len(verdicts) > 1 else ""
    repeat = f"seed {verdict.seed} ({times}repeat it with --recode-seed={verdict.seed})"
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


def _alike(answer: Answer, one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts on an answer show the same problem."""
    wrong = answer.violates
    if wrong is None or one.solved or other.solved:
        return one.solved == other.solved
    return _any_about(_failed(one), wrong) == _any_about(_failed(other), wrong)


def _unsolved_problem(task: Task, check: Check, answer: Answer, verdict: Verdict, repeat: str) -> _Problem:
    if verdict.tampering:
        return _Problem(text=f"{task.id}: {answer.name} is taken for tampering: {'; '.join(verdict.tampering)}")
    failed = _failed(verdict)
    return _Problem(
        text=f"{task.id}: {answer.name} fails {len(failed)} of {len(verdict.cases)} cases with {repeat}. "
        f"Correct {'the reference' if check.name == 'reference' else 'the answer'} or its tests.",
        account=_account(failed),
    )


def _account(failed: Sequence[Case]) -> tuple[str, ...]:
    """The failed cases with their messages. Those with the same exception of the answer's share one."""
    alike: dict[object, list[Case]] = {}
    for case in failed:
        alike.setdefault(case.exception or case.message, []).append(case)
    return tuple(
        "\n".join([*(f"{case.id} ({case.interface})" for case in cases), cases[0].message]) for cases in alike.values()
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
    failed = _failed(verdict)
    if _any_about(failed, wrong):
        return None
    wanted = f"none of {', '.join(wrong.cases)}" if wrong.cases else f"no case of {wrong.interface}"
    return _Problem(
        text=f"{task.id}: {answer.name} fails with {repeat}, but in {wanted}: it violates {requirement}, and fails "
        f"{', '.join(case.id for case in failed)}. Add a case about the requirement, or correct requirement.yaml."
    )


def _failed(verdict: Verdict) -> list[Case]:
    """The cases that did not pass, also those for which no time was left."""
    return [case for case in verdict.cases if case.outcome is not Outcome.PASSED]


def _any_about(cases: Sequence[Case], wrong: WrongAnswer) -> bool:
    """Whether one of the cases is about the requirement."""
    return any(_is_about(case, wrong) for case in cases)


def _is_about(case: Case, wrong: WrongAnswer) -> bool:
    function = case.id.partition("[")[0].rpartition("::")[2]
    return case.interface == wrong.interface and (not wrong.cases or function in wrong.cases)
