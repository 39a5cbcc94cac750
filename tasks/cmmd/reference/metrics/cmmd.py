"""CMMD (Jayasumana et al., CVPR 2024)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .settings import ESTIMATORS, SCALE, SIGMA
from .store import Store


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """The rows, brought to length 1."""
    rows = np.asarray(rows, dtype=np.float64)
    largest = np.max(np.abs(rows), axis=1, keepdims=True)
    if not largest.all():
        raise ValueError("a row of zeros has no direction")
    rows = rows / largest  # so that no square overflows or vanishes
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def excess_kernel(first: np.ndarray, second: np.ndarray, sigma: float) -> np.ndarray:
    """The Gaussian kernel minus one, for all pairs of rows."""
    if not sigma > 0.0:
        raise ValueError(f"sigma must be positive, not {sigma}")
    apart = (np.asarray(first, dtype=np.float64)[:, None] - second) / sigma
    with np.errstate(over="ignore"):  # far apart: exp(-inf) is the right answer
        return np.expm1(-0.5 * np.sum(apart**2, axis=2))


def squared_mmd(
    first: Store,
    second: Store,
    sigma: float,
    estimator: str = "unbiased",
    transform: Callable[[np.ndarray], np.ndarray] | None = None,
) -> float:
    """Estimate of the squared maximum mean discrepancy."""
    if estimator not in ESTIMATORS:
        raise ValueError(f"unknown estimator {estimator!r}: choose one of {', '.join(ESTIMATORS)}")
    if first.width != second.width:
        raise ValueError(f"embeddings of {first.width} and {second.width} numbers cannot be compared")
    alone = int(estimator == "unbiased")
    if min(len(first), len(second)) <= alone:
        raise ValueError(f"{len(first)} and {len(second)} rows are too few for the {estimator} estimate")

    def blocks(store: Store) -> Iterator[np.ndarray]:
        for start in range(0, len(store), store.max_rows):
            rows = np.asarray(store.rows(start, min(start + store.max_rows, len(store))), dtype=np.float64)
            yield rows if transform is None else transform(rows)

    def total(one: Store, other: Store) -> float:
        return sum(excess_kernel(rows, more, sigma).sum() for rows in blocks(one) for more in blocks(other))

    # The ones that are missing in `excess_kernel` add up to 1 + 1 - 2, and a row has no excess with itself.
    m, n = len(first), len(second)
    within = total(first, first) / (m * (m - alone)) + total(second, second) / (n * (n - alone))
    estimate = float(within - 2.0 * total(first, second) / (m * n))
    return estimate if alone else max(estimate, 0.0)


def cmmd(first: Store, second: Store, estimator: str = "unbiased") -> float:
    """Distance between two sets of images, by their embeddings."""
    return SCALE * squared_mmd(first, second, SIGMA, estimator, unit_rows)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
