"""Two rows, episode by episode: which tasks changed, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.intervals import Interval, bootstrap, difference, mcnemar


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Of the pairs that both sides played: of two rows, (task, attempt)."""

    pairs: int
    unpaired: int  # that one side alone has, or could not play
    both: int
    only_first: tuple[str, ...]  # tasks that the first alone solved, once per pair
    only_second: tuple[str, ...]
    neither: int
    difference: float  # solved share of the second, less the first's
    interval: Interval | None  # paired bootstrap, by tasks
    p: float  # McNemar, exact, two-sided


def compare(first: Sequence[Attempt], second: Sequence[Attempt]) -> Comparison | None:
    """By whether the episode was solved. None: no (task, attempt) was played by both."""
    one = {(attempt.task, attempt.number): attempt for attempt in first}
    other = {(attempt.task, attempt.number): attempt for attempt in second}
    pairs = [key for key in one if key in other and one[key].played and other[key].played]
    return contrast(
        [(key[0], one[key].solved_within(), other[key].solved_within()) for key in pairs],
        unpaired=len(one.keys() | other.keys()) - len(pairs),
    )


def contrast(pairs: Sequence[tuple[str, bool, bool]], *, unpaired: int) -> Comparison | None:
    """Of (task, whether the first did it, whether the second did). None without a pair.

    difference = (only second - only first) / pairs. McNemar's p takes every pair for independent: with several pairs of
    a task it is too sure, and the interval, which draws tasks, is the one to read.
    """
    if not pairs:
        return None
    lost = tuple(task for task, before, after in pairs if before and not after)
    won = tuple(task for task, before, after in pairs if after and not before)
    sums: dict[str, list[float]] = {}
    for task, before, after in pairs:
        found = sums.setdefault(task, [0, 0, 0, 0])
        for place, value in enumerate((after, 1, before, 1)):
            found[place] += value
    return Comparison(
        pairs=len(pairs),
        unpaired=unpaired,
        both=sum(before and after for _, before, after in pairs),
        only_first=lost,
        only_second=won,
        neither=sum(not before and not after for _, before, after in pairs),
        difference=(len(won) - len(lost)) / len(pairs),
        interval=bootstrap(sums, difference),
        p=mcnemar(len(lost), len(won)),
    )
