"""Describe what is wrong with the verdict of an answer, for the author of the task. Pure functions of verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_recode.task import Task, WrongAnswer
from pytest_recode.validation.checks import Answer, Check
from pytest_recode.verdict import Case, Outcome, Verdict
from pytest_recode.wording import guess, some_of

_MOST_NAMES = 10
_RAISED_AT = re.compile(r"\S+:\d+: (\w+)")
"""The last line of a traceback: the place, and the name of the exception."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The error of the task that a verdict shows. `account`: the failed cases with their messages."""

    text: str
    account: tuple[str, ...] = ()


def problem_of(
    task: Task, check: Check, answer: Answer, verdict: Verdict, verdicts: Sequence[Verdict]
) -> Problem | None:
    """`verdicts`: those of the answer under all seeds, with `verdict`."""
    seeds = {each.seed for each in verdicts}  # a failure is graded again with the same seed
    alike = {each.seed for each in verdicts if _alike(answer, each, verdict)}
    times = f"{len(alike)} of {len(seeds)} seeds; " if len(seeds) > 1 else ""
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
        return Problem(text=f"{task.id}: the tests pass with {answer.name}: they do not test it (a weak oracle).")
    return Problem(
        text=f"{task.id}: {answer.name} solves the task: its tests prove nothing. "
        "Add cases that only a right implementation passes."
    )


def _alike(answer: Answer, one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts on an answer show the same problem."""
    wrong = answer.violates
    if wrong is None or one.solved or other.solved:
        return one.solved == other.solved
    return any_about(failed_of(one), wrong) == any_about(failed_of(other), wrong)


def _unsolved_problem(task: Task, check: Check, answer: Answer, verdict: Verdict, repeat: str) -> Problem:
    if verdict.tampering:
        return Problem(text=f"{task.id}: {answer.name} is taken for tampering: {'; '.join(verdict.tampering)}")
    failed = failed_of(verdict)
    is_reference = check.name == "reference"
    step = "Correct the reference or its tests." if is_reference else "Correct the answer, the tests or the reference."
    if is_reference and exceeds_a_limit(verdict):
        step = (
            "It exceeds a time limit, so no other seed was tried: make the reference faster, or raise `limits` in "
            f"{task.manifest.name}. In the messages below, the candidate is the reference."
        )
    return Problem(
        text=f"{task.id}: {answer.name} fails {len(failed)} of {len(verdict.cases)} cases with {repeat}. {step}",
        account=account(failed),
    )


def exceeds_a_limit(verdict: Verdict) -> bool:
    """Whether the answer was too slow for a case."""
    return any(case.kind == "timeout" for case in failed_of(verdict))


def account(failed: Sequence[Case]) -> tuple[str, ...]:
    """The failed cases with their messages. Those that failed by the same exception share one."""
    alike: dict[object, list[Case]] = {}
    for case in failed:
        alike.setdefault(_cause(case), []).append(case)
    return tuple(
        "\n".join([*(f"{case.id} ({case.interface})" for case in cases), cases[0].message]) for cases in alike.values()
    )


def _cause(case: Case) -> object:
    """Equal for cases that failed by the same exception: of the answer's, with the same last line, or of its use by the test.

    Failed assertions differ by their values, so each has its whole message.
    """
    if case.exception is not None:
        return case.exception.type, case.exception.frames[-1:] or case.exception.message
    lines = case.message.rstrip().splitlines()
    raised = _RAISED_AT.fullmatch(lines[-1]) if lines else None
    if raised is None or raised[1] == "AssertionError":
        return case.message
    return raised[1], next((line.strip() for line in lines if line.startswith("E ") and f"{raised[1]}: " in line), "")


def _violation_problem(task: Task, answer: Answer, wrong: WrongAnswer, verdict: Verdict, repeat: str) -> Problem | None:
    requirement = f"{wrong.requirement!r} ({wrong.interface})"
    if verdict.solved:
        return Problem(
            text=f"{task.id}: {answer.name} solves the task with {repeat}, although it violates {requirement}. "
            "Add a case that fails for it under every seed, or correct the answer, if it does not violate the requirement."
        )
    failed = failed_of(verdict)
    if any_about(failed, wrong):
        return None
    wanted = f"none of {', '.join(wrong.cases)}" if wrong.cases else f"no case of {wrong.interface}"
    return Problem(
        text=f"{task.id}: {answer.name} fails with {repeat}, but in {wanted}: it violates {requirement}, and fails "
        f"{', '.join(case.id for case in failed)}. Add a case about the requirement, or correct requirement.yaml."
    )


def failed_of(verdict: Verdict) -> list[Case]:
    """The cases that did not pass, also those for which no time was left."""
    return [case for case in verdict.cases if case.outcome is not Outcome.PASSED]


def any_about(cases: Sequence[Case], wrong: WrongAnswer) -> bool:
    """Whether one of the cases is about the requirement."""
    return any(is_about(case, wrong) for case in cases)


def is_about(case: Case, wrong: WrongAnswer) -> bool:
    """Whether a case is about the requirement that a wrong answer violates."""
    return case.interface == wrong.interface and (not wrong.cases or _function(case) in wrong.cases)


def unknown_cases(wrongs: Iterable[WrongAnswer], cases: Sequence[Case]) -> list[str]:
    """A line for each name in `cases` of a wrong answer that no hidden test of its interface has."""
    of: dict[str, list[str]] = {}  # interface -> test functions
    for case in cases:
        of.setdefault(case.interface, []).append(_function(case))
    lines = []
    for wrong in wrongs:
        known = list(dict.fromkeys(of.get(wrong.interface, ())))
        choices = f"choose from {some_of(known, _MOST_NAMES)}" if known else f"no case is about {wrong.interface}"
        for name in wrong.cases:
            others = [interface for interface, names in of.items() if name in names]
            subject = f"proofs/wrong/{wrong.name}/requirement.yaml: cases:"
            if others and name not in known:
                lines.append(
                    f"{subject} {name} is about {others[0]}, not about {wrong.interface}: {choices}, or correct `interface`"
                )
            elif name not in known:
                lines.append(f"{subject} no hidden test has the name {name}{guess(name, known)}: {choices}")
    return lines


def _function(case: Case) -> str:
    """The name of the test function."""
    return case.id.partition("[")[0].rpartition("::")[2]
