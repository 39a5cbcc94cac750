"""How difficult tasks are, and how the attempts of two models at a task turn out: the model behind `power`.

Pure functions of the stdlib; docs/reference/metrics.md states the assumptions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt

CORRELATION = 0.48
"""Correlation of the results of two models at the same task: mean covariance / mean product of the standard deviations, over all
pairs of the 32 models of ResearchCodeBench's published results with one attempt at each of 212 snippets."""

_WEIGHT = 1 / CORRELATION - 1
_LEAST = 0.05
"""A mean of solve probabilities is at least this far from 0 and 1: without it, tasks that nobody solved could show no difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """What is known of a task: the probability that a model solves it has a beta distribution with these two parameters (> 0).

    The model lies half-way between the two that are compared.
    """

    solved: float
    unsolved: float


ASSUMED = Difficulty(solved=_WEIGHT / 2, unsolved=_WEIGHT / 2)
"""Of a task of which nothing is known. Two attempts at such tasks have the correlation `CORRELATION`."""


def recorded(attempts: Iterable[Attempt]) -> dict[str, Difficulty]:
    """Task -> its difficulty, from all its played attempts; ASSUMED, moved to their mean share, is what is known without them."""
    counts: dict[str, tuple[int, int]] = {}
    for attempt in attempts:
        if attempt.played:
            solved, played = counts.get(attempt.task, (0, 0))
            counts[attempt.task] = (solved + attempt.solved_within(None), played + 1)
    total, of = (sum(numbers) for numbers in zip(*counts.values(), strict=True)) if counts else (0, 0)
    mean = min(max((total + 0.5) / (of + 1), _LEAST), 1 - _LEAST)
    return {
        task: Difficulty(solved=_WEIGHT * mean + solved, unsolved=_WEIGHT * (1 - mean) + played - solved)
        for task, (solved, played) in counts.items()
    }


def difference(tasks: Mapping[Difficulty, int], gap: float) -> float:
    """The expected difference of the shares of solved episodes, over tasks of these difficulties, as many as are given.

    `gap`: how much higher the log odds of the second model are, on every task (Rasch 1960).
    """
    total = sum(
        count
        * sum(share * (_logistic(odds + gap / 2) - _logistic(odds - gap / 2)) for odds, share in _grid(difficulty))
        for difficulty, count in tasks.items()
    )
    return total / sum(tasks.values())


def gap_of(tasks: Mapping[Difficulty, int], target: float) -> float:
    """The `gap` with which `difference` is `target` (0 to 1); infinite for 1."""
    if target >= 1:
        return math.inf
    low, high = 0.0, 1.0
    while difference(tasks, high) < target:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if difference(tasks, middle) < target else (low, middle)
    return high


def changes(difficulty: Difficulty, gap: float, attempts: int) -> list[float]:
    """The distribution of the attempts that the second model solves minus those that the first does: from -`attempts` to `attempts`.

    Each model has `attempts` attempts, which are independent of one another given the task.
    """
    distribution = [0.0] * (2 * attempts + 1)
    for odds, share in _grid(difficulty):
        first, second = (_solved(odds + half, attempts) for half in (-gap / 2, gap / 2))
        for one, its in enumerate(first):
            scaled = its * share
            for other, probability in enumerate(second):
                distribution[attempts + other - one] += scaled * probability
    return distribution


@functools.lru_cache(maxsize=1000)
def _grid(difficulty: Difficulty) -> tuple[tuple[float, float], ...]:
    """Log odds of the solve probability and their shares, which add up to 1.

    The trapezoidal rule on the log odds, whose density is analytic and decays exponentially: the error is far below that of the simulation.
    """
    spread = math.sqrt(1 / difficulty.solved + 1 / difficulty.unsolved)
    step = min(0.5, spread / 2)
    centre = math.log(difficulty.solved / difficulty.unsolved)
    below, above = (int((30 / each + 10 * min(spread, 1)) / step) for each in (difficulty.solved, difficulty.unsolved))
    found = list(_densities(difficulty, [centre + place * step for place in range(-below, above + 1)]))
    whole = sum(density for _, density in found)
    return tuple((odds, density / whole) for odds, density in found if density > 1e-12 * whole)


def _densities(difficulty: Difficulty, places: list[float]) -> Iterator[tuple[float, float]]:
    logs = [-difficulty.solved * _softplus(-odds) - difficulty.unsolved * _softplus(odds) for odds in places]
    highest = max(logs)
    for odds, log in zip(places, logs, strict=True):
        yield odds, math.exp(log - highest)


def _softplus(value: float) -> float:
    """log(1 + e^value)"""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0


def _solved(odds: float, attempts: int) -> list[float]:
    """The probabilities that 0 … `attempts` attempts are solved."""
    share, rest = _logistic(odds), _logistic(-odds)
    return [math.comb(attempts, k) * share**k * rest ** (attempts - k) for k in range(attempts + 1)]
