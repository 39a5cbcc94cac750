"""Compare two rows task by task: tasks whose result changed, and a significance test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pytest_recode.metrics import passing
from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.intervals import Interval
from pytest_recode.metrics.paired import PairedDifference, Unit, paired


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """Input of a comparison's significance test: the arguments of `paired`, and the name of its units: "12 tasks", "20 papers"."""

    units: tuple[Unit, ...]
    item: Fraction | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison of two sides over the pairs that both played: tasks with all their played attempts, or replayed turns.

    pairs = both + len(only_first) + len(only_second) + neither.
    """

    pairs: int
    unpaired: int  # only one side has it, or one could not play it
    both: int  # solved by both, equally often
    only_first: tuple[str, ...]  # tasks that only the first solved, or solved more often
    only_second: tuple[str, ...]
    neither: int
    first: float  # solved share, mean over pairs
    second: float
    difference: float  # first minus second: above 0, the first is better
    interval: Interval  # of the difference; excludes 0 exactly if p < 0.05
    p: float
    units: str  # units that the test treats as independent: "12 tasks", "20 papers"
    least_p: float  # the smallest p that the test can give with so many units, if all of them change the same way

    def swapped(self) -> Comparison:
        """The comparison of the second with the first."""
        low, high = self.interval
        return replace(
            self,
            only_first=self.only_second,
            only_second=self.only_first,
            first=self.second,
            second=self.first,
            difference=-self.difference,
            interval=(-high, -low),
        )


def compare(first: Sequence[Attempt], second: Sequence[Attempt], *, within: int | None = None) -> Comparison | None:
    """Compare by whether episodes were solved (within `within` turns; None: in any turn). Return None if both played no task.

    The score of a task is the share of its played attempts that are solved. The test treats tasks as independent; snippets of a
    paper may be nested, so for them it uses papers (`passing.contrast`).
    """
    pairs = _pairs(first, second, within)
    if not pairs:
        return None
    test = tested(first, second, within=within)
    everything = {attempt.task for attempt in (*first, *second)}
    found = paired(test.units, item=test.item)
    return _comparison(list(pairs.items()), found, test.words, len(test.units), len(everything) - len(pairs))


def tested(first: Sequence[Attempt], second: Sequence[Attempt], *, within: int | None) -> Tested:
    """The units that `compare` tests; none if both played no task."""
    pairs = _pairs(first, second, within)
    snippets = {attempt.task: attempt.snippet for attempt in first if attempt.snippet}
    if pairs and pairs.keys() <= snippets.keys():
        known = {task: snippets[task] for task in pairs}
        whole, item = passing.contrast_units(
            {task: (known[task], score) for task, (score, _) in pairs.items()},
            {task: (known[task], score) for task, (_, score) in pairs.items()},
            scaled=False,
        )
        return Tested(units=tuple(whole), item=item, words=passing.units(known.values()))
    whole = [Unit(change=one - other) for one, other in pairs.values()]
    return Tested(units=tuple(whole), item=None, words=_tasks(len(pairs)))


def turns(pairs: Sequence[tuple[str, bool, bool]], *, unpaired: int) -> Comparison | None:
    """Compare single turns, given as (task, result of the first, result of the second). A task may have several. None without a pair."""
    if not pairs:
        return None
    changes: dict[str, tuple[int, int]] = {}
    for task, one, other in pairs:
        change, weight = changes.get(task, (0, 0))
        changes[task] = (change + one - other, weight + 1)
    found = paired([Unit(change=Fraction(change), weight=weight) for change, weight in changes.values()])
    scores = [(task, (Fraction(one), Fraction(other))) for task, one, other in pairs]
    return _comparison(scores, found, _tasks(len(changes)), len(changes), unpaired)


def _comparison(
    pairs: Sequence[tuple[str, tuple[Fraction, Fraction]]],
    difference: PairedDifference,
    units: str,
    number: int,
    unpaired: int,
) -> Comparison:
    return Comparison(
        pairs=len(pairs),
        unpaired=unpaired,
        both=sum(one == other > 0 for _, (one, other) in pairs),
        only_first=tuple(task for task, (one, other) in pairs if one > other),
        only_second=tuple(task for task, (one, other) in pairs if other > one),
        neither=sum(one == other == 0 for _, (one, other) in pairs),
        first=float(sum(one for _, (one, _) in pairs) / len(pairs)),
        second=float(sum(other for _, (_, other) in pairs) / len(pairs)),
        difference=difference.value,
        interval=difference.interval,
        p=difference.p,
        units=units,
        least_p=2.0 ** (1 - number),
    )


def _pairs(
    first: Sequence[Attempt], second: Sequence[Attempt], within: int | None
) -> dict[str, tuple[Fraction, Fraction]]:
    one, other = _scores(first, within), _scores(second, within)
    return {task: (one[task], other[task]) for task in one if task in other}


def _scores(attempts: Sequence[Attempt], within: int | None) -> dict[str, Fraction]:
    outcomes_of: dict[str, list[bool]] = {}
    for attempt in attempts:
        if attempt.played:
            outcomes_of.setdefault(attempt.task, []).append(attempt.solved_within(within))
    return {task: Fraction(sum(outcomes), len(outcomes)) for task, outcomes in outcomes_of.items()}


def _tasks(n: int) -> str:
    return f"{n} task" + ("" if n == 1 else "s")
