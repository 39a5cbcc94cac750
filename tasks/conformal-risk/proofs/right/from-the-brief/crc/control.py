"""Conformal risk control (Angelopoulos et al., ICLR 2024)."""

from __future__ import annotations

import numpy as np

from .results import Choice
from .sets import members
from .settings import SLACK


def false_negative_rates(scores: np.ndarray, labels: np.ndarray, lambdas: np.ndarray) -> np.ndarray:
    """Share of the true labels that the set of each example misses at each lambda, (n, m)."""
    scores = np.asarray(scores, dtype=np.float64)
    labels = np.asarray(labels).astype(bool)
    lambdas = np.asarray(lambdas, dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(f"scores must have two axes, not {scores.ndim}")
    if labels.shape != scores.shape:
        raise ValueError(f"labels {labels.shape} must have the shape of scores {scores.shape}")
    if lambdas.ndim != 1:
        raise ValueError(f"lambdas must have one axis, not {lambdas.ndim}")
    total = labels.sum(axis=1)
    rates = np.zeros((len(scores), len(lambdas)))
    for column, level in enumerate(lambdas):
        missed = (labels & ~members(scores, level)).sum(axis=1)
        rates[:, column] = missed / np.maximum(total, 1)
    return rates


def monotone_losses(losses: np.ndarray) -> np.ndarray:
    """The smallest losses above `losses` that do not increase along the last axis."""
    losses = np.asarray(losses, dtype=np.float64)
    return np.maximum.accumulate(losses[..., ::-1], axis=-1)[..., ::-1].copy()


def choose_lambda(
    losses: np.ndarray,
    lambdas: np.ndarray,
    alpha: float,
    *,
    bound: float = 1.0,
    weights: np.ndarray | None = None,
    test_weight: float = 1.0,
) -> Choice:
    """The smallest lambda of the grid whose risk, with the worst case for the new example, is at most `alpha`."""
    losses = np.asarray(losses, dtype=np.float64)
    lambdas = np.asarray(lambdas, dtype=np.float64)
    bound, test_weight = float(bound), float(test_weight)
    if lambdas.ndim != 1 or lambdas.size == 0:
        raise ValueError("lambdas must have one axis and at least one element")
    if not np.all(np.diff(lambdas) > 0.0):
        raise ValueError("lambdas must be strictly increasing")
    if losses.ndim != 2 or losses.shape[1] != lambdas.size:
        raise ValueError(f"losses must be (n, {lambdas.size}), not {losses.shape}")
    if not np.all(losses <= bound):
        raise ValueError("losses must be numbers that do not exceed the bound")
    weights = np.ones(len(losses)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(losses),):
        raise ValueError(f"weights must be ({len(losses)},), not {weights.shape}")
    if not np.all(weights >= 0.0) or not test_weight >= 0.0:
        raise ValueError("weights must not be negative")
    scale = max(test_weight, weights.max(initial=0.0))
    if scale == 0.0:
        raise ValueError("weights must not add up to 0")

    # only the ratios of the weights matter; the largest one becomes 1
    weights, test_weight = weights / scale, test_weight / scale
    risks = (weights @ monotone_losses(losses) + test_weight * bound) / (weights.sum() + test_weight)
    fine = risks <= alpha + SLACK
    position = int(np.argmax(fine)) if fine.any() else lambdas.size - 1
    return Choice(position, float(lambdas[position]), float(risks[position]), bool(fine[position]))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
