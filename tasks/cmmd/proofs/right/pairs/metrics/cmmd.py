"""CMMD by hyperbolic sines and pairs of different rows only."""

from __future__ import annotations

import itertools

import numpy as np

from .settings import ESTIMATORS, SCALE, SIGMA
from .store import Store


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """The rows, brought to length 1."""
    rows = np.array(rows, dtype=np.float64)
    if len(rows) == 0:
        return rows
    _, exponents = np.frexp(np.abs(rows).max(axis=1))
    rows = np.ldexp(rows, -exponents[:, None])
    lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows))
    if np.any(lengths == 0.0):
        raise ValueError("a row of zeros")
    return rows / lengths[:, None]


def excess_kernel(first: np.ndarray, second: np.ndarray, sigma: float) -> np.ndarray:
    """The Gaussian kernel minus one: exp(-2 a) - 1 = -2 exp(-a) sinh(a)."""
    if not sigma > 0:
        raise ValueError("sigma must be greater than 0")
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    quarter = np.zeros((len(first), len(second)))
    with np.errstate(over="ignore"):
        for axis in range(first.shape[1]):
            quarter += np.square(np.subtract.outer(first[:, axis], second[:, axis]) / (2.0 * sigma))
    near = np.minimum(quarter, 300.0)
    return np.where(quarter < 300.0, -2.0 * np.exp(-near) * np.sinh(near), -1.0)


class _Reader:
    def __init__(self, store, transform):
        self.store, self.transform, self.size = store, transform, min(store.max_rows, 3)

    def __iter__(self):
        for start in range(0, len(self.store), self.size):
            rows = np.float64(self.store.rows(start, min(len(self.store), start + self.size)))
            yield start, self.transform(rows) if self.transform else rows


def squared_mmd(first: Store, second: Store, sigma: float, estimator: str = "unbiased", transform=None) -> float:
    """Estimate of the squared maximum mean discrepancy."""
    if not sigma > 0:
        raise ValueError("sigma must be greater than 0")
    if estimator not in ESTIMATORS or first.width != second.width:
        raise ValueError("wrong estimator or width")
    pairs = {"unbiased": lambda size: size * (size - 1), "biased": lambda size: size * size}[estimator]
    estimate = 0.0
    for store in (first, second):
        if pairs(len(store)) == 0:
            raise ValueError("too few rows")
        reader = _Reader(store, transform)
        for (start, rows), (other, more) in itertools.product(reader, reader):
            if start < other:
                estimate += 2.0 * excess_kernel(rows, more, sigma).sum() / pairs(len(store))
            elif start == other:
                within = excess_kernel(rows, more, sigma)
                estimate += (np.triu(within, 1).sum() + np.tril(within, -1).sum()) / pairs(len(store))
    for (_, rows), (_, more) in itertools.product(_Reader(first, transform), _Reader(second, transform)):
        estimate -= 2.0 * excess_kernel(rows, more, sigma).sum() / (len(first) * len(second))
    return float(estimate) if estimator == "unbiased" or estimate > 0.0 else 0.0


def cmmd(first: Store, second: Store, estimator: str = "unbiased") -> float:
    """Distance between two sets of images, by their embeddings."""
    return float(SCALE * squared_mmd(first, second, SIGMA, estimator, unit_rows))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
