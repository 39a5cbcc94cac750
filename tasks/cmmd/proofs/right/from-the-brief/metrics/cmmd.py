"""CMMD (Jayasumana et al., CVPR 2024)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from .settings import ESTIMATORS, SCALE, SIGMA
from .store import Store

Transform = Callable[[np.ndarray], np.ndarray]


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """The rows, brought to length 1."""
    rows = np.asarray(rows, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if np.any(largest == 0.0):
        raise ValueError("a row has only zeros")
    rows = rows / largest
    return rows / np.sqrt(np.sum(rows * rows, axis=1, keepdims=True))


def _check_sigma(sigma: float) -> None:
    if not sigma > 0.0:
        raise ValueError(f"sigma must be greater than 0, not {sigma}")


def excess_kernel(first: np.ndarray, second: np.ndarray, sigma: float) -> np.ndarray:
    """The Gaussian kernel minus one, for all pairs of rows."""
    _check_sigma(sigma)
    first = np.asarray(first, dtype=np.float64)
    second = np.asarray(second, dtype=np.float64)
    result = np.zeros((len(first), len(second)))
    with np.errstate(over="ignore", under="ignore"):
        for row, values in zip(first, result, strict=True):
            steps = (row - second) / sigma
            if not np.all(np.isfinite(steps)):  # the difference may have overflown, but not the ratio
                steps = 2.0 * ((0.5 * row - 0.5 * second) / sigma)
            values[:] = np.expm1(-0.5 * np.sum(steps * steps, axis=1))
    return result


def _blocks(store: Store, transform: Transform | None, begin: int = 0) -> Iterator[tuple[int, np.ndarray]]:
    """The blocks of a store from row `begin` on, with their first rows."""
    for start in range(begin, len(store), store.max_rows):
        block = np.asarray(store.rows(start, min(start + store.max_rows, len(store))), dtype=np.float64)
        yield start, block if transform is None else transform(block)


def _within(store: Store, sigma: float, transform: Transform | None) -> float:
    """Sum of the excess kernel over all pairs of rows of a store; a row with itself adds 0."""
    sums = []
    for start, block in _blocks(store, transform):
        for other_start, other in _blocks(store, transform, start):
            if other_start == start:
                sums.append(float(excess_kernel(block, block, sigma).sum()))
            else:
                sums.append(2.0 * float(excess_kernel(block, other, sigma).sum()))
    return math.fsum(sums)


def _between(first: Store, second: Store, sigma: float, transform: Transform | None) -> float:
    """Sum of the excess kernel over all pairs of a row of each store."""
    return math.fsum(
        float(excess_kernel(block, other, sigma).sum())
        for _, block in _blocks(first, transform)
        for _, other in _blocks(second, transform)
    )


def squared_mmd(
    first: Store,
    second: Store,
    sigma: float,
    estimator: str = "unbiased",
    transform: Transform | None = None,
) -> float:
    """Estimate of the squared maximum mean discrepancy."""
    if estimator not in ESTIMATORS:
        raise ValueError(f"unknown estimator {estimator!r}: choose one of {', '.join(ESTIMATORS)}")
    _check_sigma(sigma)
    if first.width != second.width:
        raise ValueError(f"embeddings of width {first.width} and {second.width} cannot be compared")
    m, n = len(first), len(second)
    omitted = 1 if estimator == "unbiased" else 0
    if min(m, n) < 1 + omitted:
        raise ValueError(f"the {estimator} estimate needs at least {1 + omitted} rows, not {m} and {n}")
    # the ones that the excess kernel lacks cancel: 1 + 1 - 2
    estimate = (
        _within(first, sigma, transform) / (m * (m - omitted))
        + _within(second, sigma, transform) / (n * (n - omitted))
        - 2.0 * _between(first, second, sigma, transform) / (m * n)
    )
    return max(estimate, 0.0) if estimator == "biased" else estimate


def cmmd(first: Store, second: Store, estimator: str = "unbiased") -> float:
    """Distance between two sets of images, by their embeddings."""
    return SCALE * squared_mmd(first, second, SIGMA, estimator, unit_rows)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
