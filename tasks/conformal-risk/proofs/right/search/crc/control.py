"""Conformal risk control with sorted scores and a search in the falling risk."""

from __future__ import annotations

import numpy as np

from .results import Choice
from .settings import SLACK


def false_negative_rates(scores: np.ndarray, labels: np.ndarray, lambdas: np.ndarray) -> np.ndarray:
    """Share of the true labels that the set of each example misses at each lambda."""
    scores, labels = np.asarray(scores, dtype=np.float64), np.asarray(labels).astype(bool)
    lambdas = np.asarray(lambdas, dtype=np.float64)
    if lambdas.ndim != 1 or scores.ndim != 2 or scores.shape != labels.shape:
        raise ValueError("scores and labels must be tables of one shape, lambdas a vector")
    rates = np.zeros((len(scores), len(lambdas)))
    for row, mine, true in zip(rates, scores, labels, strict=True):
        if true.any():
            # The number of true labels whose score is below each edge.
            row[:] = np.searchsorted(np.sort(mine[true]), 1.0 - lambdas, side="left") / true.sum()
    return rates


def monotone_losses(losses: np.ndarray) -> np.ndarray:
    """The largest value from each place on."""
    losses = np.asarray(losses, dtype=np.float64)
    return np.flip(np.maximum.accumulate(np.flip(losses, axis=-1), axis=-1), axis=-1).copy()


def choose_lambda(
    losses: np.ndarray,
    lambdas: np.ndarray,
    alpha: float,
    *,
    bound: float = 1.0,
    weights: np.ndarray | None = None,
    test_weight: float = 1.0,
) -> Choice:
    """The smallest lambda that meets the condition, by bisection."""
    losses, lambdas = np.asarray(losses, dtype=np.float64), np.asarray(lambdas, dtype=np.float64)
    n, m = losses.shape if losses.ndim == 2 else (-1, -1)
    if m < 1 or lambdas.shape != (m,) or (lambdas[1:] <= lambdas[:-1]).any():
        raise ValueError("losses must be (n, m) for m increasing lambdas")
    if np.isnan(losses).any() or (losses > bound).any():
        raise ValueError("losses must not exceed the bound")
    every = np.append(np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64), test_weight)
    if every.shape != (n + 1,) or np.ndim(weights if weights is not None else every) != 1 or every.min() < 0.0 or every.sum() == 0.0:
        raise ValueError("weights must be (n,), not negative, and not all 0")
    table = np.vstack([monotone_losses(losses), np.full((1, m), float(bound))])
    risks = (every / every.sum()) @ table
    # The risk falls with lambda: the number of lambdas that do not meet the condition is the position.
    first = int(np.count_nonzero(risks > alpha + SLACK))
    position = min(first, m - 1)
    return Choice(position, lambdas[position].item(), risks[position].item(), first < m)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
