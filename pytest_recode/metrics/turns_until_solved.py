"""Compare two rows by the turns until solved, task by task: for rows that solve nearly everything in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.intervals import Interval
from pytest_recode.metrics.paired import Unit, paired


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsCompared:
    """Mean turns until solved of two rows, over the tasks that both played; an unsolved episode counts as `limit` + 1.

    `difference` is the first mean minus the second: below 0, the first is better. p < 0.05 exactly if `interval` (95 %) excludes 0.
    """

    limit: int
    tasks: int
    first: float
    second: float
    difference: float
    interval: Interval
    p: float

    def swapped(self) -> TurnsCompared:
        """The comparison of the second with the first."""
        low, high = self.interval
        return replace(self, first=self.second, second=self.first, difference=-self.difference, interval=(-high, -low))


def compare_turns(first: Sequence[Attempt], second: Sequence[Attempt], limit: int) -> TurnsCompared | None:
    """Compare by the turns until solved, at most `limit` (> 1) of both rows. None if both played no task.

    The unit of the test is the task, with the mean over its played attempts (`paired`).
    """
    one, other = _means(first, limit), _means(second, limit)
    both = [task for task in one if task in other]
    if not both:
        return None
    tested = paired([Unit(change=(one[task] - other[task]) / limit) for task in both])
    low, high = tested.interval
    return TurnsCompared(
        limit=limit,
        tasks=len(both),
        first=float(sum(one[task] for task in both) / len(both)),
        second=float(sum(other[task] for task in both) / len(both)),
        difference=limit * tested.value,
        interval=(limit * low, limit * high),
        p=tested.p,
    )


def _means(attempts: Sequence[Attempt], limit: int) -> dict[str, Fraction]:
    """Task -> mean turns until solved of its played attempts."""
    turns: dict[str, list[int]] = {}
    for attempt in attempts:
        if attempt.played:
            solved = attempt.solved_turn if attempt.solved_within(limit) else None
            turns.setdefault(attempt.task, []).append(solved or limit + 1)
    return {task: Fraction(sum(its), len(its)) for task, its in turns.items()}
