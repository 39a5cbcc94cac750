"""Intervals and tests against libraries that compute them, and against enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pytest_recode.metrics.intervals import bootstrap, difference, mcnemar, pass_at_k, quantile, ratio


@pytest.mark.parametrize("share", [0.0, 0.025, 0.3, 0.5, 0.975, 1.0])
@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_quantile_is_numpys(n: int, share: float) -> None:
    values = sorted(np.random.default_rng(n).normal(size=n))
    assert quantile(values, share) == pytest.approx(np.quantile(values, share))


def stats() -> ModuleType:
    """Imported here: it takes seconds, and every worker imports every file of tests."""
    return import_module("scipy.stats")


def scipys(samples: tuple[Any, ...], statistic: Callable[..., Any], *, vectorized: bool) -> tuple[float, float]:
    """A paired bootstrap's interval."""
    settings = {"paired": True, "vectorized": vectorized, "method": "percentile", "n_resamples": 20_000}
    found = stats().bootstrap(samples, statistic, rng=np.random.default_rng(5), **settings).confidence_interval
    return found.low, found.high


def test_bootstrap_of_a_ratio_is_scipys() -> None:
    rng = np.random.default_rng(3)
    lines = rng.integers(1, 70, size=20)
    solved = np.array([rng.integers(0, n + 1) for n in lines])
    ours = bootstrap({str(n): pair for n, pair in enumerate(zip(solved, lines, strict=True))}, ratio, draws=20_000)
    theirs = scipys((solved, lines), lambda a, b: a.sum(axis=-1) / b.sum(axis=-1), vectorized=False)
    # two draws of 20,000 from one distribution: the ends agree to about 0.002
    assert ours == pytest.approx(theirs, abs=0.01)


def test_bootstrap_by_enumeration() -> None:
    # of two clusters, 1 of 1 and 0 of 3, the four draws give 1, 1/4, 1/4, 0
    low, high = bootstrap({"a": (1, 1), "b": (0, 3)}, ratio) or (math.nan, math.nan)
    assert (low, high) == (0.0, 1.0)


def test_a_paired_difference_of_equals_is_nothing() -> None:
    sums = {str(n): (n % 3, n + 3, n % 3, n + 3) for n in range(12)}
    assert bootstrap(sums, difference) == (0.0, 0.0)


def test_a_paired_difference_is_scipys() -> None:
    """Of 60 tasks, one attempt each: the difference of two shares, both drawn at once, against scipy's."""
    rng = np.random.default_rng(7)
    before = rng.random(60) < 0.4
    after = before | (rng.random(60) < 0.3)
    sums = {str(n): (int(a), 1, int(b), 1) for n, (b, a) in enumerate(zip(before, after, strict=True))}
    theirs = scipys(
        (after.astype(float), before.astype(float)),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        vectorized=True,
    )
    # a draw moves the difference by a sixtieth at least
    assert bootstrap(sums, difference, draws=20_000) == pytest.approx(theirs, abs=1 / 60 + 1e-9)


def test_bootstrap_repeats_itself_and_says_nothing_of_one_cluster() -> None:
    sums = {str(n): (n % 2, 1) for n in range(9)}
    assert bootstrap(sums, ratio) == bootstrap(sums, ratio)
    assert bootstrap(sums, ratio, seed=1) is not None
    assert bootstrap({"a": (1, 2)}, ratio) is None


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 1), (1, 5), (5, 1), (3, 3), (0, 12), (30, 50), (600, 500)])
def test_mcnemar_is_the_binomial_test(a: int, b: int) -> None:
    expected = stats().binomtest(a, a + b).pvalue if a + b else 1.0
    assert mcnemar(a, b) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "c", "k"), [(1, 0, 1), (1, 1, 1), (5, 2, 1), (5, 2, 3), (5, 5, 5), (6, 1, 4), (6, 0, 6)])
def test_pass_at_k_by_enumeration(n: int, c: int, k: int) -> None:
    drawn = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, drawn)) / len(drawn))


def test_pass_at_k_needs_k() -> None:
    with pytest.raises(ValueError, match="at least 3 attempts, not 2"):
        pass_at_k(2, 1, 3)
