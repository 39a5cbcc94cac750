"""The verdict on a comparison with a baseline, and the number of tasks that would suffice for one.

Pure functions of the stdlib; docs/reference/metrics.md defines both.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction

from pytest_recode.metrics.intervals import Interval
from pytest_recode.metrics.paired import LEVEL, Unit, interval_within, p_value

ALLOWED = Fraction(1, 10)
"""The largest difference of solved shares that still counts as the same: 10 percentage points."""
MOST_TASKS = 1000
"""Larger numbers of tasks are not searched for."""


class GateVerdict(StrEnum):
    BETTER = "better"
    SAME = "same within noise"
    WORSE = "worse"
    FEW = "too few tasks to tell"


def verdict(difference: float, interval: Interval, p: float) -> GateVerdict:
    """`p` is adjusted for the number of rows that are compared."""
    if p < LEVEL:
        return GateVerdict.BETTER if difference > 0 else GateVerdict.WORSE
    low, high = interval
    most = float(ALLOWED)  # the ends are floats: 1 of 10 must not lie beyond 1/10
    return GateVerdict.SAME if low >= -most and high <= most else GateVerdict.FEW


def sufficient(units: Sequence[Unit], item: Fraction | None, *, tasks: int, rows: int = 1) -> int | None:
    """The smallest multiple of `tasks` that would suffice for another verdict than FEW, if all of them were as those of `units`.

    That is: with each unit repeated k times, the verdict is another. With several `rows`, p must be below 0.05 / rows, which Holm's
    adjustment demands at most. None: more than MOST_TASKS. Raises `ValueError` if no task was compared.
    """
    if not units:
        raise ValueError("no task was compared, so nothing is known about more of them")

    def suffice(times: int) -> bool:
        repeated = [*units] * times
        return Fraction(p_value(repeated)) < LEVEL / rows or interval_within(repeated, item, ALLOWED)

    most = MOST_TASKS // tasks
    if most < 2:
        return None
    few, enough = 1, 2
    while not suffice(min(enough, most)):
        if enough >= most:
            return None
        few, enough = enough, 2 * enough
    enough = min(enough, most)
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if suffice(middle) else (middle, enough)
    return enough * tasks
