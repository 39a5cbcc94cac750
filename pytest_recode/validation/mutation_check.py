"""The check that mutates the code of one interface in the reference, or all of a right answer, and grades each mutant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pytest_recode.task import Files, Parts, Proofs, Task
from pytest_recode.validation.checks import Answer, Check, proofs_of
from pytest_recode.validation.gradings import Gradings, failing
from pytest_recode.validation.mutants import Mutant, mutants, nearest
from pytest_recode.validation.problems import account
from pytest_recode.validation.result import Validation
from pytest_recode.validation.seeds import BEYOND_THE_SEED
from pytest_recode.validation.survivors import described
from pytest_recode.verdict import Case, Verdict, legible
from pytest_recode.wording import some_of

PATIENCE = 10.0
"""A mutant's test may take this many times as long as the reference's slowest one, and at least `LEAST_SECONDS`."""
LEAST_SECONDS = 2.0
_MOST_CASES = 5
_RIGHT = "proofs/right"


def check_mutants(task: Task, check: Check, parts: Parts, proofs: Proofs, gradings: Gradings, seed: int) -> Validation:
    """Try the mutants of one interface's code; the first interface also covers code that interfaces share. Or those of a right answer."""
    reference = gradings.reference(seed)
    if not reference.solved:
        return untried(check, gradings, "mutants", reference)
    source, label = _mutated(task, check, parts)
    if label:
        right = gradings.verdict(Answer(name=label, targets=source), seed)
        if not right.solved:
            return untried(
                check, gradings, f"mutants of {label}", right, f"{label} does not pass (see validate[right])."
            )
    slowest = max((case.seconds for case in reference.cases), default=0.0)
    patience = min(task.limits.test_seconds, max(LEAST_SECONDS, PATIENCE * slowest))
    candidates = mutants(source, task.interfaces)
    if label:
        candidates = [replace(mutant, name=f"{label}/{mutant.name}") for mutant in candidates]
    first = check.mutated == task.interfaces[0]
    survivors: list[Mutant] = []
    detected: dict[Mutant, list[Case]] = {}
    failed_last: dict[tuple[str, str], list[str]] = {}  # cases, by file and definition
    listed = {
        name: line for name, line in proofs.equivalent.items() if name.startswith(f"{label or _RIGHT}/") == bool(label)
    }
    known = {mutant.name: mutant for mutant in candidates}
    problems = _unknown_mutants(task, listed, known, label or "the reference") if first or label else []
    tried = 0
    never_failed = {case.id for case in reference.cases}
    for mutant in candidates:
        if not label and mutant.interface != check.mutated and not (first and not mutant.interface):
            continue
        tested = mutant.interface or check.mutated
        own = [case.id for case in reference.cases if case.interface == tested]
        targets = {**source, mutant.path: mutant.source}
        equivalent = mutant.name in proofs.equivalent
        answer = Answer(name=mutant.name, targets=targets)
        # Nearly all mutants fail a case of their interface, or one that failed for the last mutant of the same function. Only the
        # others need all cases, and a process for each interface.
        only = own if mutant.interface else failed_last.get((mutant.path, mutant.definition))
        if only and not gradings.cases_are_independent(seed):
            only = None
        still_run = () if equivalent else never_failed.intersection(own)
        verdict = gradings.verdict(
            answer, seed, only=only or None, stop_at_failure=True, still_run=still_run, test_seconds=patience
        )
        if not failing(verdict) and not all(case.ran for case in verdict.cases):
            verdict = gradings.verdict(answer, seed, stop_at_failure=True, test_seconds=patience)
        if equivalent:
            if not verdict.solved:
                problems.append(
                    f"{task.id}: equivalent.txt:{proofs.equivalent[mutant.name]}: is not equivalent: the tests notice it "
                    f"({failing(verdict)[0].id}, seed {verdict.seed}). Remove the line, or correct the case."
                )
            continue
        tried += 1
        if verdict.solved:
            survivors.append(mutant)
        elif failed := failing(verdict):  # there is none if the mutant counts as tampering
            detected[mutant] = failed
            failed_last[mutant.path, mutant.definition] = [case.id for case in failed]
            never_failed -= {case.id for case in failed}
    return Validation(
        check=check.name,
        problem=legible("\n\n".join(problems)),
        warning="",
        seconds=gradings.seconds,
        isolation=gradings.isolation,
        answers=tried,
        noticed=tried - len(survivors),
        tried=tried,
        survivors=described(survivors, source, detected, reference.cases, label or "reference"),
        cases=tuple(case.id for case in reference.cases),
        failed=tuple(case.id for case in reference.cases if case.id not in never_failed),
    )


def _mutated(task: Task, check: Check, parts: Parts) -> tuple[Files, str]:
    """The code that is mutated, and what the names of its mutants begin with: "proofs/right/NAME", or ""."""
    if not check.mutated_right:
        return parts.reference, ""
    return proofs_of(task, "right").right[check.mutated_right], f"{_RIGHT}/{check.mutated_right}"


def untried(check: Check, gradings: Gradings, answers: str, reference: Verdict, failed_answer: str = "") -> Validation:
    """The result of a check whose answers differ from the reference in one place, if the verdict of the reference is not that it passes.

    `failed_answer`: says that about another answer, whose verdict `reference` then is.
    """
    common = gradings.common
    failed = failing(reference)
    names = some_of([case.id for case in failed], _MOST_CASES)
    if failed_answer:
        problem = failed_answer
    elif common.reference_passed is False or not failed:
        problem = "the reference does not pass (see validate[reference])."
    elif common.reference_passed:
        problem = f"the reference passed validate[reference], and fails {names} here with the same seed {reference.seed}: {BEYOND_THE_SEED}"
    else:
        problem = (
            f"the reference fails {names} here with seed {reference.seed} (see validate[reference]). "
            f"If it passes there with this seed: {BEYOND_THE_SEED}"
        )
    shown = account(failed) if common.reference_passed is not False else ()
    return Validation(
        check=check.name,
        problem=legible("\n\n".join([f"{common.task.id}: {answers} cannot be tried: {problem}", *shown])),
        warning="",
        seconds=gradings.seconds,
        isolation=gradings.isolation,
        answers=0,
    )


def _unknown_mutants(task: Task, equivalent: Mapping[str, int], known: Mapping[str, Mutant], mutated: str) -> list[str]:
    problems = []
    for name, line in equivalent.items():
        if name not in known:
            guess = nearest(name, known)
            hint = f" The nearest is: {guess}" if guess else ""
            problems.append(
                f"{task.id}: equivalent.txt:{line}: names no mutant of {mutated}. Copy a last line of a survivor "
                f"in the report, or remove this line.{hint}"
            )
    return problems
