"""The result of one check of a task, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A mutant that no case detected. `place` and `name` are those of the mutant; `interface` is "" for code that interfaces share.

    `diff`: a unified diff of the reference. `nearest`: the case that detected the mutant of the nearest line, `nearest_line`, of the
    same target; "" if no case detected one. `cases`: those that use the interface. `by_mark`: they are known only by their interface
    mark, because the tests share a process with the candidate.
    """

    name: str
    place: str
    interface: str
    diff: str
    nearest: str
    nearest_line: int
    cases: tuple[str, ...]
    by_mark: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedDifference:
    """A case whose outcome for one answer depends on the secret seed. `failed` and `passed` are seeds, in the order of the gradings; `text`
    says the same for people."""

    answer: str
    case: str
    failed: tuple[int, ...]
    passed: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The result of a check. `problem` and `warning` are empty if nothing is wrong. `seconds`: the time of the slowest grading.

    `answers` counts what was graded because of the check, `right` those of them whose verdicts were as they must be; `noticed` and
    `tried` count mutants. `seeds`: under how many secret seeds each answer is graded. `differences` between these seeds.

    `unquoted`: the sentences of the instruction that no wrong answer quotes; None if the check does not tell, or there is no wrong answer.
    `failed`: the cases, of all `cases` of the task, that failed for a mutant or a wrong answer; None if the check does not tell.
    """

    check: str
    problem: str
    warning: str
    seconds: float
    isolation: str
    answers: int
    right: int = 0
    seeds: int = 1
    noticed: int = 0
    tried: int = 0
    survivors: tuple[Survivor, ...] = ()
    differences: tuple[SeedDifference, ...] = ()
    cases: tuple[str, ...] = ()
    failed: tuple[str, ...] | None = None
    unquoted: tuple[str, ...] | None = None
