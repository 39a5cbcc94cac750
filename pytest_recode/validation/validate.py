"""Run one check of a task, and describe what it found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from pytest_recode.faults import GraderError, SandboxError, UserError
from pytest_recode.feedback.audit import leaks_of
from pytest_recode.oracle import judge
from pytest_recode.oracle.verifier import SHARED, with_image_files
from pytest_recode.task import Task, WrongAnswer
from pytest_recode.validation.checks import Answer, Check, proofs_of
from pytest_recode.validation.feedback_claims import untrue_claims
from pytest_recode.validation.gradings import CommonGrader, Gradings, failing
from pytest_recode.validation.handed_on import handed_on
from pytest_recode.validation.missing_requirements import unmet
from pytest_recode.validation.mutation_check import check_mutants, untried
from pytest_recode.validation.problems import any_about, exceeds_a_limit, is_about, problem_of, unknown_cases
from pytest_recode.validation.result import SeedDifference, Validation
from pytest_recode.validation.seeds import differing
from pytest_recode.validation.sentences import unquoted
from pytest_recode.validation.unseeded import unseeded
from pytest_recode.validation.watched_arguments import findings_of, watching
from pytest_recode.validation.weak_cases import weak_cases
from pytest_recode.verdict import Outcome, Verdict, lacks_a_module, legible

SHARED_WOULD_DO = (
    "It is solved where the solution ran, because the answer is more than files of the working directory: --recode-shared-verifier judges there,"
    " which is weaker evidence."
)
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

    Raises `GraderError`, `SandboxError`, `UserError`; the last also if tests or reference import a module that is not installed.
    """
    try:
        return _validate(check, common, seed, seeds, graded)
    except GraderError:
        if common.task.oracle.isolation == "separate":  # in a shared process, this would run the tests again
            with suppress(GraderError, SandboxError):
                judge.check(common.task, common.task.load(), common.sandbox)
        raise


def _validate(
    check: Check, common: CommonGrader, seed: int | None, seeds: int, graded: Callable[[], None]
) -> Validation:
    task = common.task
    parts = with_image_files(task, task.load(), common.sandbox)
    if check.inspects is not None:
        wrong, weak = check.inspects(task, parts)
        return Validation(
            check=check.name,
            problem=legible(wrong),
            warning=weak,
            seconds=0.0,
            isolation=common.sandbox.isolation,
            answers=0,
        )
    proofs = proofs_of(task, check.reads)
    common.sandbox.ready(task.environment)
    gradings = Gradings(parts, common, graded)
    count = seeds if check.seeded and seed is None else 1
    chosen = common.seeds(count) if seed is None else [seed]
    if check.mutated or check.mutated_right:
        return check_mutants(task, check, parts, proofs, gradings, chosen[0])
    problems: list[str] = []
    passing: dict[str, list[str]] = {}
    differences: list[SeedDifference] = []
    noticed = 0
    outcomes: dict[str, bool] = {}  # whether a case ever failed
    answers = check.answers(task, parts, proofs)
    if check.by_solution:
        name = "what its solution leaves" if check.must_solve else "the untouched working directory"
        answers = [Answer(name=name, targets={})]
    if any(answer.violates for answer in answers):
        reference = gradings.reference(chosen[0])
        if not reference.solved:
            return untried(check, gradings, "wrong answers", reference)
        if unknown := unknown_cases(proofs.wrong, reference.cases):
            raise UserError("\n".join(f"{task.manifest.parent}/{line}" for line in unknown))
    graded_answers = _verdicts(task, check, answers, gradings, chosen)
    separate = task.oracle.isolation == "separate"
    if check.name == "reference" and separate and any(map(lacks_a_module, graded_answers[0])):
        judge.check(task, parts, common.sandbox)
    for answer, verdicts in zip(answers, graded_answers, strict=True):
        noticed += sum(not verdict.solved for verdict in verdicts)
        for verdict in verdicts:
            failed = {case.id for case in failing(verdict)}
            outcomes |= {case.id: outcomes.get(case.id, False) or case.id in failed for case in verdict.cases}
        pairs = differing(answer.name, verdicts)
        differences += pairs
        if problem := next(filter(None, (problem_of(task, check, answer, each, verdicts) for each in verdicts)), None):
            problems.append("\n\n".join([problem.text, *(each.text for each in pairs), *problem.account]))
        passing[answer.constant or answer.name] = [
            case.id for case in verdicts[-1].cases if case.outcome is Outcome.PASSED
        ]
    if problems and check.by_solution and check.must_solve and _is_solved_where_it_ran(gradings, chosen[0]):
        problems.append(SHARED_WOULD_DO)
    warnings = weak_cases(passing) if check.means_nothing and not task.oracle.script else []
    right = len(answers) - len(problems)
    if check.name == "right":
        problems += [line for answer in answers for line in untrue_claims(task, parts, answer.name, answer.targets)]
    if check.name == "reference":
        common.validated(graded_answers[0])
        warnings += [
            *leaks_of(parts),
            *unseeded(parts.tests),
            *handed_on(parts.tests, task.interfaces),
            *unmet(task, common.sandbox),
        ]
        if task.invariants and not problems:
            watched = Answer(name="the watched reference", targets=watching(task, parts.reference, chosen[0]))
            shown = findings_of(gradings.verdict(watched, chosen[0]))
            problems += [f"{task.id}: {line}" for line in shown.contradictions]
            warnings += shown.extremes
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


def _is_solved_where_it_ran(gradings: Gradings, seed: int) -> bool:
    """Whether the solution is solved in the sandbox where it ran, though not by its files in another one."""
    if gradings.common.shared_verifier:
        return False
    with suppress(GraderError, SandboxError):
        verdict = gradings.solution(seed, solved=True, shared=True)
        return verdict.solved and verdict.isolation == SHARED
    return False


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
                if check.by_solution:
                    earlier.append(gradings.solution(seed, solved=bool(check.must_solve)))
                elif answer.violates is not None:
                    earlier.append(_of_wrong(gradings, answer, answer.violates, seed, noticing, first=not earlier))
                elif check.must_solve:
                    earlier += _of_right(gradings, answer, seed, alone=check.alone)
                else:
                    earlier.append((gradings.constant if answer.constant else gradings.verdict)(answer, seed))
            except (GraderError, SandboxError):
                if all(problem_of(task, check, answer, verdict, earlier) is None for verdict in earlier):
                    raise
                continue  # an earlier verdict already is not as it must be
            noticing |= {case.id for case in failing(earlier[-1])}
    return verdicts


def _is_hopeless(earlier: Sequence[Verdict]) -> bool:
    """Whether it is certain that an answer does not pass, or whether it would take too long: one that exceeds a limit uses up its time."""
    too_slow = bool(earlier) and not earlier[-1].solved and exceeds_a_limit(earlier[-1])
    return too_slow or (len(earlier) >= ENOUGH and not any(verdict.solved for verdict in earlier))


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
    decisive = {case.id for case in cases if is_about(case, violated)}
    quiet = {case.id for case in cases if case.interface == violated.interface and case.id not in noticing}
    if decisive and gradings.cases_are_independent(seed):
        still_run = quiet if first else set()
        only = [case.id for case in cases if case.id in decisive | still_run]
        verdict = gradings.verdict(answer, seed, only=only, stop_at_failure=True, still_run=still_run)
        if any_about(failing(verdict), violated):
            return verdict
    return gradings.verdict(answer, seed)
