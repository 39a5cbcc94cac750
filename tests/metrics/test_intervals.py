"""Intervals and adjusted p values against libraries that compute them, against enumeration, and against drawn populations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recode.metrics.intervals import holm, of_difference, of_share, pass_all_k, pass_at_k, student, wilson


def stats() -> ModuleType:
    """Imported here: it takes seconds, and every worker imports every file of tests."""
    return import_module("scipy.stats")


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 8), (3, 8), (8, 8), (30, 102), (73, 102), (500, 1000)])
def test_wilson_is_scipys(k: int, n: int) -> None:
    expected = stats().binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_nothing_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(0, 400), st.integers(1, 400))
@settings(deadline=None)
def test_wilson_holds_its_share(k: int, n: int) -> None:
    low, high = wilson(min(k, n), n)
    assert 0 <= low <= min(k, n) / n <= high <= 1
    assert low < high


def test_students_quantile_is_scipys() -> None:
    found = [student(n) for n in (*range(1, 40), 99, 100, 999, 5000)]
    assert found == pytest.approx(stats().t.ppf(0.975, [*range(1, 40), 99, 100, 999, math.inf]), abs=1e-8)


def test_one_outcome_in_each_cluster_is_wilson() -> None:
    assert of_share([(1, 1), (0, 1), (1, 1)], tasks=3, attempts=3) == wilson(2, 3)


def test_several_attempts_with_one_outcome_in_each_cluster_are_no_independent_outcomes() -> None:
    """Six snippets of which three were solved in all five attempts: 30 attempts, and six observations."""
    pass_at_1 = of_share([(1, 1)] * 3 + [(0, 1)] * 3, tasks=6, attempts=30)
    assert pass_at_1 == of_share([(5, 5)] * 3 + [(0, 5)] * 3, tasks=6, attempts=30)
    assert pass_at_1[0] < wilson(3, 6)[0] < wilson(15, 30)[0]


def test_a_clustered_share_by_linear_algebra() -> None:
    """The variance of a ratio as the sandwich of a weighted regression on a constant, with clusters, as survey packages have it."""
    rng = np.random.default_rng(4)
    size = rng.integers(3, 30, 20)
    solved = rng.binomial(size, rng.beta(2, 3, 20))
    outcomes = np.concatenate([np.repeat([1.0, 0.0], [k, n - k]) for k, n in zip(solved, size, strict=True)])
    cluster = np.repeat(np.arange(20), size)
    share = outcomes.mean()
    scores = np.array([(outcomes - share)[cluster == one].sum() for one in range(20)])
    variance = 20 / 19 * (scores**2).sum() / len(outcomes) ** 2
    effective = share * (1 - share) / variance
    t = stats().t.ppf(0.975, 19)
    # Wilson's ends are the roots of (share - x)^2 = t^2 x (1 - x) / effective
    roots = np.roots([1 + t**2 / effective, -(2 * share + t**2 / effective), share**2])
    interval = of_share(
        [(float(k), float(n)) for k, n in zip(solved, size, strict=True)], tasks=size.sum(), attempts=int(size.sum())
    )
    assert interval == pytest.approx(sorted(roots), abs=1e-9)


@pytest.mark.parametrize("solved", [0, 1])
def test_all_or_nothing_still_has_an_interval_and_counts_tasks(solved: int) -> None:
    """Of 4 tasks with 10 attempts each: the attempts at a task may all be one answer."""
    assert of_share([(10 * solved, 10)] * 4, tasks=4, attempts=40) == wilson(4 * solved, 4)


def test_one_task_takes_its_attempts_for_independent() -> None:
    assert of_share([(2, 5)], tasks=1, attempts=5) == wilson(2, 5)
    assert of_share([], tasks=0, attempts=0) == (0.0, 1.0)


@pytest.mark.parametrize("papers", [6, 20])
def test_of_a_hundred_intervals_some_95_hold_the_truth(papers: int) -> None:
    """Papers of unequal size, whose snippets hang together (intraclass correlation 0.2): of 1000 samples."""
    rng = np.random.default_rng(papers)
    held = plain = 0
    for _ in range(1000):
        size = rng.integers(3, 20, papers)
        solved = rng.binomial(size, rng.beta(1.6, 2.4, papers))
        low, high = of_share(
            [(float(k), float(n)) for k, n in zip(solved, size, strict=True)],
            tasks=size.sum(),
            attempts=int(size.sum()),
        )
        held += low <= 0.4 <= high
        low, high = wilson(solved.sum(), size.sum())
        plain += low <= 0.4 <= high
    assert held >= 920
    assert plain < 850


def test_the_difference_of_two_shares_is_newcombes() -> None:
    """Newcombe 1998 (Statistics in Medicine 17:873), table II: 56/70 less 48/80 by method 10."""
    one, other = (48 / 80, wilson(48, 80)), (56 / 70, wilson(56, 70))
    assert of_difference(one, other) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(st.integers(0, 9), st.integers(0, 9))
@settings(deadline=None)
def test_a_difference_always_has_a_width(k: int, n: int) -> None:
    low, high = of_difference((k / 9, wilson(k, 9)), (n / 9, wilson(n, 9)))
    assert -1 <= low <= (n - k) / 9 <= high <= 1
    assert high - low > 0.1


def test_holm_by_hand() -> None:
    # sorted .01 .02 .03 .04 times 4, 3, 2, 1, and never below the one before
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
@settings(deadline=None)
def test_holm_rejects_what_its_steps_reject(values: list[float]) -> None:
    """As the procedure is defined: step down from the smallest while p <= level / number of those left."""
    adjusted = holm(values)
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for step, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
            if values[index] * (len(values) - step) > level:
                break
            rejected.add(index)
        assert {index for index, p in enumerate(adjusted) if p <= level} == rejected


@pytest.mark.parametrize(("n", "c", "k"), [(1, 0, 1), (1, 1, 1), (5, 2, 1), (5, 2, 3), (5, 5, 5), (6, 1, 4), (6, 0, 6)])
def test_pass_at_k_by_enumeration(n: int, c: int, k: int) -> None:
    drawn = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, drawn)) / len(drawn))


@pytest.mark.parametrize(("n", "c", "k"), [(1, 0, 1), (1, 1, 1), (5, 2, 1), (5, 4, 3), (5, 5, 5), (6, 1, 4), (6, 6, 2)])
def test_pass_all_k_by_enumeration(n: int, c: int, k: int) -> None:
    drawn = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_all_k(n, c, k) == pytest.approx(sum(map(all, drawn)) / len(drawn))


@pytest.mark.parametrize("estimate", [pass_at_k, pass_all_k])
def test_k_attempts_are_needed(estimate: Callable[[int, int, int], float]) -> None:
    with pytest.raises(ValueError, match="at least 3 attempts, not 2"):
        estimate(2, 1, 3)
