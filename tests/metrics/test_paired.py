"""The paired test and its interval against scipy, against enumeration, and against drawn populations."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recode.metrics.paired import PairedDifference, Unit, paired
from tests.examples import examples


def stats() -> ModuleType:
    return import_module("scipy.stats")


def units(*changes: Fraction | int) -> list[Unit]:
    return [Unit(change=Fraction(change)) for change in changes]


def of(lost: int, won: int, same: int) -> PairedDifference:
    return paired(units(*[-1] * lost, *[1] * won, *[0] * same))


@pytest.mark.parametrize(
    ("lost", "won"),
    [
        (0, 0),
        (0, 1),
        (1, 5),
        (5, 1),
        (3, 3),
        (0, 12),
        (30, 50),
        (66, 20),
        pytest.param(150, 210, marks=pytest.mark.slow),
    ],
)
def test_with_one_attempt_it_is_mcnemars_exact_test(lost: int, won: int) -> None:
    expected = stats().binomtest(lost, lost + won).pvalue if lost + won else 1.0
    assert of(lost, won, 20).p == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_with_several_attempts_it_is_scipys_permutation_test(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 4, 9), rng.integers(0, 4, 9)
    permutation = stats().permutation_test(
        (other / 3, one / 3),
        lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    difference = paired(units(*(Fraction(int(b - a), 3) for a, b in zip(one, other, strict=True))))
    assert difference.p == pytest.approx(permutation.pvalue)
    assert difference.value == pytest.approx(permutation.statistic)


def test_papers_of_unequal_size_are_scipys_too() -> None:
    changes = np.array([3, -1, 4, 2, -2, 5, 1, 0, 2, 3, -4, 6])
    permutation = stats().permutation_test(
        (changes, np.zeros(12)),
        lambda a, b, axis: np.sum(a, axis=axis) - np.sum(b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    difference = paired([Unit(change=Fraction(int(change)), weight=9) for change in changes])
    assert difference.p == pytest.approx(permutation.pvalue)


def test_five_tasks_allow_no_less_than_six_hundredths() -> None:
    """Whatever the number of attempts: here three, all of which the first fails and the second solves."""
    found = paired(units(*[1] * 5))
    assert found.p == 2 / 2**5
    assert found.interval[0] == 0.0


def enumerated(changes: Sequence[Fraction]) -> tuple[float, float]:
    """The interval by its definition: every subset of the units and of two more, one each way."""
    whole = [*changes, Fraction(1), Fraction(-1)]
    subsets = [
        sum(chosen, Fraction()) / len(chosen)
        for size in range(1, len(whole) + 1)
        for chosen in itertools.combinations(whole, size)
    ]
    everything = 2 ** len(whole)
    low = min(end for end in subsets if (1 + sum(other <= end for other in subsets)) / everything >= 0.025)
    high = max(end for end in subsets if (1 + sum(other >= end for other in subsets)) / everything >= 0.025)
    signs = itertools.product((1, -1), repeat=len(changes))
    flips = [abs(sum(sign * one for sign, one in zip(chosen, changes, strict=True))) for chosen in signs]
    p = sum(flip >= abs(sum(changes)) for flip in flips) / len(flips)
    if p >= 0.05:
        low, high = min(low, Fraction()), max(high, Fraction())
    elif sum(changes) > 0:
        low = max(low, min(end for end in subsets if end > 0))
    else:
        high = min(high, max(end for end in subsets if end < 0))
    mean = sum(changes, Fraction()) / len(changes)
    return float(min(low, mean)), float(max(high, mean))


@pytest.mark.parametrize(
    "changes",
    [
        [1] * 6,
        [0] * 4,
        [1, 0, 0, 1, 1],
        [-1, 1, 1, 1, 1, 1, 1, 0],
        [Fraction(1, 3), Fraction(2, 3), Fraction(-1, 3), 1, 1, 1, 0],
        [Fraction(1, 2), Fraction(1, 3), Fraction(1, 2), 1, Fraction(2, 3), Fraction(1, 6), Fraction(1, 2)],
    ],
)
def test_the_interval_by_enumeration(changes: list[Fraction]) -> None:
    assert paired(units(*changes)).interval == pytest.approx(enumerated([Fraction(change) for change in changes]))


change = st.sampled_from([Fraction(n, 3) for n in range(-3, 4)])
paper = st.integers(1, 12).flatmap(
    lambda weight: st.integers(-weight, weight).map(lambda n: Unit(change=Fraction(n), weight=weight))
)


def consistent(difference: PairedDifference) -> None:
    low, high = difference.interval
    assert -1 <= low <= difference.value <= high <= 1
    assert (difference.p < 0.05) == (not low <= 0 <= high)
    assert 0 < difference.p <= 1
    assert low < high


@given(st.lists(change, min_size=1, max_size=24))
@settings(deadline=None)
def test_p_and_interval_agree(changes: list[Fraction]) -> None:
    consistent(paired(units(*changes)))


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60))
@settings(deadline=None)
def test_p_and_interval_agree_with_one_attempt(lost: int, won: int, same: int) -> None:
    if lost + won + same:
        consistent(of(lost, won, same))


@given(st.lists(paper, min_size=1, max_size=20))
@examples(60)
def test_p_and_interval_agree_by_papers(sample: list[Unit]) -> None:
    consistent(paired(sample))


@given(st.lists(change, min_size=1, max_size=12), st.randoms())
@settings(deadline=None)
def test_the_other_way_round_is_the_mirror(changes: list[Fraction], chance: random.Random) -> None:
    one = paired(units(*changes))
    mixed = [-each for each in changes]
    chance.shuffle(mixed)
    other = paired(units(*mixed))
    assert other.p == one.p
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]))


def test_many_sums_are_drawn_and_agree_with_the_exact_ones() -> None:
    """Weights in thousands have more sums than are counted out; a common factor changes neither test nor interval."""
    rng = np.random.default_rng(2)
    changes = [int(n) for n in rng.integers(-9, 14, 25)]
    exact = paired([Unit(change=Fraction(n), weight=15) for n in changes])
    drawn = paired([Unit(change=Fraction(n * 7919), weight=15 * 7919) for n in changes], item=Fraction(7919))
    consistent(drawn)
    assert drawn.p == exact.p
    assert drawn.interval == pytest.approx(exact.interval, abs=0.01)


@pytest.mark.parametrize(("tasks", "won", "lost"), [(6, 0.5, 0.1), (12, 0.3, 0.05), (30, 0.9, 0.0), (30, 0.1, 0.1)])
def test_of_a_hundred_intervals_95_hold_the_truth(tasks: int, won: float, lost: float) -> None:
    rng = np.random.default_rng(tasks)
    held = 0
    for _ in range(500):
        drawn = rng.choice([1, 0, -1], p=[won, 1 - won - lost, lost], size=tasks)
        low, high = paired(units(*map(int, drawn))).interval
        held += low - 1e-12 <= won - lost <= high + 1e-12
    assert held >= 470
