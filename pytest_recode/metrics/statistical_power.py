"""Which difference between two models a set of tasks can detect, by simulation of the gate's own verdict.

Pure functions of the stdlib; docs/reference/metrics.md defines the numbers. Random draws use a seed, so that an answer is reproducible.
"""

from __future__ import annotations

import functools
import random
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from pytest_recode.metrics import difficulty
from pytest_recode.metrics.attempt import Snippet
from pytest_recode.metrics.difficulty import Difficulty
from pytest_recode.metrics.gate_verdict import GateVerdict, verdict
from pytest_recode.metrics.paired import sign_flip_p
from pytest_recode.metrics.passing import unit_names, units

POWER = Fraction(4, 5)
"""The probability with which a difference is to be found."""
SIMULATIONS = 2000
SEED = 20250602
MOST_ATTEMPTS = 50
LEAST_UNITS = 6
"""With fewer units no difference is found: even if all of them change, p is 2 / 2**5 > 0.05."""
_BLOCK = 200
"""A simulation ends after a multiple of this, if it is clear on which side of POWER its share lies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """The tasks that a comparison is made with: the difficulty of each, and the unit of the test that each belongs to.

    `units` names the test's units and their number: "8 tasks", "20 papers".
    """

    tasks: tuple[str, ...]
    difficulties: tuple[Difficulty, ...]
    unit: tuple[int, ...]  # place of the task's unit, from 0, ascending
    units: str


def task_set(tasks: Mapping[str, Snippet | None], known: Mapping[str, Difficulty]) -> TaskSet:
    """The set of these tasks; those of `known` with their difficulty. The units are those of `compare`."""
    snippets = {task: snippet for task, snippet in tasks.items() if snippet is not None}
    by_snippets = len(snippets) == len(tasks) > 0
    names = unit_names(snippets) if by_snippets else {task: task for task in tasks}
    place = {name: number for number, name in enumerate(dict.fromkeys(names.values()))}
    ordered = sorted(tasks, key=lambda task: place[names[task]])
    return TaskSet(
        tasks=tuple(ordered),
        difficulties=tuple(known.get(task, difficulty.ASSUMED) for task in ordered),
        unit=tuple(place[names[task]] for task in ordered),
        units=units(snippets.values()) if by_snippets else f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}",
    )


def smallest(tasks: TaskSet, attempts: int, *, turns: int = 1, seed: int = SEED) -> int | None:
    """The smallest difference, in whole percentage points, that is found with a probability of at least POWER; None: not even 100 is.

    With several `turns`, a point is a hundredth of them, and the difference that of the mean turns until solved (`difficulty.difference`).
    """
    draws = _draws(len(tasks.unit), seed)
    if not _suffices(tasks, attempts, 100, draws, turns):
        return None
    few, enough = 0, 100
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if _suffices(tasks, attempts, middle, draws, turns) else (middle, enough)
    return enough


def fewest_attempts(tasks: TaskSet, points: int, *, seed: int = SEED) -> int | None:
    """The smallest number of attempts with which this difference is found with a probability of at least POWER; None: MOST_ATTEMPTS do not suffice."""
    draws = _draws(len(tasks.unit), seed)
    if not _suffices(tasks, MOST_ATTEMPTS, points, draws):
        return None
    few, enough = 0, MOST_ATTEMPTS
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if _suffices(tasks, middle, points, draws) else (middle, enough)
    return enough


def power(tasks: TaskSet, attempts: int, points: int, *, turns: int = 1, seed: int = SEED) -> float:
    """The share of SIMULATIONS simulated comparisons that find a true difference of `points` percentage points, as in `smallest`.

    A difference is found if the verdict on the better model is BETTER.
    """
    draws = _draws(len(tasks.unit), seed)
    return sum(_outcomes(tasks, attempts, points, draws, turns)) / SIMULATIONS


def is_found(changes: Sequence[int]) -> bool:
    """Whether the verdict is BETTER, of units that change by these numbers of solved attempts (or of any other common unit)."""
    total = sum(changes)
    return total > 0 and _better(tuple(sorted(abs(number) for number in changes if number)), total)


@functools.lru_cache(maxsize=20_000)
def _better(sizes: tuple[int, ...], total: int) -> bool:
    # Any difference above 0, and any interval: the verdict BETTER depends on neither
    return verdict(1.0, (-1.0, 1.0), float(sign_flip_p(sizes, total))) is GateVerdict.BETTER


_Draws = Sequence[Sequence[float]]
"""For each simulated comparison, a number in [0, 1) per task. They are the same for all differences and attempts of one question, so
that the shares of neighbouring differences differ by less than those of independent draws."""


def _draws(tasks: int, seed: int) -> _Draws:
    rng = random.Random(seed)
    return [[rng.random() for _ in range(tasks)] for _ in range(SIMULATIONS)]


def _suffices(tasks: TaskSet, attempts: int, points: int, draws: _Draws, turns: int = 1) -> bool:
    hits = 0
    for done, hit in enumerate(_outcomes(tasks, attempts, points, draws, turns), 1):
        hits += hit
        # Four standard errors from POWER
        if done % _BLOCK == 0 and (hits - float(POWER) * done) ** 2 > 16 * done * float(POWER * (1 - POWER)):
            break
    return Fraction(hits, done) >= POWER


def _outcomes(tasks: TaskSet, attempts: int, points: int, draws: _Draws, turns: int) -> Iterator[bool]:
    """Whether each simulated comparison finds the difference."""
    kinds = Counter(tasks.difficulties)
    gap = _gap(frozenset(kinds.items()), points, turns)
    sums = {kind: list(accumulate(difficulty.changes(kind, gap, attempts, turns))) for kind in kinds}
    of_tasks = [sums[kind][:-1] for kind in tasks.difficulties]  # a number above all of these is the last change
    single = tasks.unit == tuple(range(len(tasks.unit)))
    for numbers in draws:
        found = [place - attempts * turns for place in map(bisect, of_tasks, numbers)]
        yield is_found(found if single else _by_unit(tasks.unit, found))


@functools.lru_cache(maxsize=200)
def _gap(kinds: frozenset[tuple[Difficulty, int]], points: int, turns: int) -> float:
    return difficulty.gap_of(dict(sorted(kinds, key=repr)), points / 100, turns)


def _by_unit(unit: Sequence[int], changes: Sequence[int]) -> list[int]:
    sums = [0] * (unit[-1] + 1)
    for place, change in zip(unit, changes, strict=True):
        sums[place] += change
    return sums
