"""How difficult tasks are, and how the attempts of two models at a task turn out: the model behind `power`.

Pure functions of the stdlib; docs/reference/metrics.md states the assumptions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.task import BlindAttempt

CORRELATION = 0.48
"""Correlation of the results of two models at the same task: mean covariance / mean product of the standard deviations, over all
pairs of the 32 models of ResearchCodeBench's published results with one attempt at each of 212 snippets."""

_WEIGHT = 1 / CORRELATION - 1
_NEGLIGIBLE = 1e-15
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


BETWEEN = Difficulty(solved=5.5, unsolved=5.5)
"""Of a task that is meant to be solved between a quarter and three quarters of the time: the mean and the standard deviation of a uniform
distribution on these."""


def recorded(attempts: Iterable[Attempt]) -> dict[str, Difficulty]:
    """Task -> its difficulty, from all its played attempts; ASSUMED, moved to their mean share, is what is known without them."""
    counts: dict[str, tuple[int, int]] = {}
    for attempt in attempts:
        if attempt.played:
            solved, played = counts.get(attempt.task, (0, 0))
            counts[attempt.task] = (solved + attempt.solved_within(None), played + 1)
    return _from_counts(counts)


def measured(tasks: Mapping[str, Sequence[BlindAttempt]], turns: int = 1) -> dict[str, Difficulty]:
    """Task -> its difficulty, from the first `turns` turns of blind attempts, for tasks that have some; as `recorded`, with a turn as the trial."""
    return _from_counts(
        {
            task: (sum(one.solved and one.turns <= turns for one in its), sum(min(one.turns, turns) for one in its))
            for task, its in tasks.items()
            if its
        }
    )


def recorded_turns(attempts: Iterable[Attempt], turns: int) -> dict[str, Difficulty]:
    """Task -> its difficulty, from the first `turns` turns of its played attempts; as `recorded`, with a turn as the trial."""
    counts: dict[str, tuple[int, int]] = {}
    for attempt in attempts:
        if attempt.played:
            solved, tried = counts.get(attempt.task, (0, 0))
            played = attempt.solved_turn or len(attempt.turns) or 1  # published results have one turn, and none stored
            counts[attempt.task] = (solved + attempt.solved_within(turns), tried + min(played, turns))
    return _from_counts(counts)


def _from_counts(counts: Mapping[str, tuple[int, int]]) -> dict[str, Difficulty]:
    """Task -> its difficulty, from its (successes, trials)."""
    total, of = (sum(numbers) for numbers in zip(*counts.values(), strict=True)) if counts else (0, 0)
    mean = min(max((total + 0.5) / (of + 1), _LEAST), 1 - _LEAST)
    return {
        task: Difficulty(solved=_WEIGHT * mean + solved, unsolved=_WEIGHT * (1 - mean) + trials - solved)
        for task, (solved, trials) in counts.items()
    }


def mean_share(tasks: Mapping[Difficulty, int]) -> float:
    """The mean probability that a model solves a task at a turn, over so many tasks of these difficulties."""
    total = sum(count * one.solved / (one.solved + one.unsolved) for one, count in tasks.items())
    return total / sum(tasks.values())


def difference(tasks: Mapping[Difficulty, int], gap: float, turns: int = 1) -> float:
    """The expected difference of the shares of solved episodes, over tasks of these difficulties, as many as are given.

    `gap`: how much higher the log odds of the second model are, on every task (Rasch 1960). `turns`: the difference is the mean of those
    within one turn, two … `turns` turns, each of which solves with the same probability while the task is unsolved. This is the difference
    of the mean turns until solved, divided by `turns`, if an unsolved episode counts as `turns` + 1.
    """
    total = sum(
        count
        * sum(
            share * (_mean_score(odds + gap / 2, turns) - _mean_score(odds - gap / 2, turns))
            for odds, share in _grid(difficulty)
        )
        for difficulty, count in tasks.items()
    )
    return total / sum(tasks.values())


def gap_of(tasks: Mapping[Difficulty, int], target: float, turns: int = 1) -> float:
    """The `gap` with which `difference` is `target` (0 to 1); infinite for 1."""
    if target >= 1:
        return math.inf
    low, high = 0.0, 1.0
    while difference(tasks, high, turns) < target:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if difference(tasks, middle, turns) < target else (low, middle)
    return high


def changes(difficulty: Difficulty, gap: float, attempts: int, turns: int = 1) -> list[float]:
    """The distribution of the sum of the second model's scores minus that of the first's: from -`attempts` x `turns` to the same above 0.

    Each model has `attempts` attempts, which are independent of one another given the task. The score of an attempt is the number of
    turns, of `turns`, that it did not need any more before it was solved: `turns` if the first one solved it, 0 if none did. With one
    turn, the sums are the numbers of solved attempts.
    """
    most = attempts * turns
    distribution = [0.0] * (2 * most + 1)
    for odds, share in _grid(difficulty):
        first, second = (_scores(odds + half, attempts, turns) for half in (-gap / 2, gap / 2))
        for one, its in enumerate(first):
            scaled = its * share
            if scaled < _NEGLIGIBLE:
                continue
            for other, probability in enumerate(second, most - one):
                distribution[other] += scaled * probability
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


def _mean_score(odds: float, turns: int) -> float:
    """The mean over turns of the probability that an attempt is solved within them, if each turn has these log odds."""
    rest = _logistic(-odds)
    return 1 - sum(rest**turn for turn in range(1, turns + 1)) / turns if turns > 1 else _logistic(odds)


def _scores(odds: float, attempts: int, turns: int) -> list[float]:
    """The probabilities of the sums 0 … `attempts` x `turns` of the scores of `changes`."""
    share, rest = _logistic(odds), _logistic(-odds)
    if turns == 1:
        return [math.comb(attempts, k) * share**k * rest ** (attempts - k) for k in range(attempts + 1)]
    single = [rest**turns, *(share * rest ** (turns - score) for score in range(1, turns + 1))]
    sums = [1.0]
    for _ in range(attempts):
        longer = [0.0] * (len(sums) + turns)
        for place, probability in enumerate(sums):
            for score, its in enumerate(single, place):
                longer[score] += probability * its
        sums = longer
    return sums
