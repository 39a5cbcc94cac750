"""Conformal risk control (Angelopoulos et al., ICLR 2024)."""

from __future__ import annotations

import numpy as np

from .results import Choice
from .sets import members
from .settings import SLACK


def false_negative_rates(scores: np.ndarray, labels: np.ndarray, lambdas: np.ndarray) -> np.ndarray:
    """Share of the true labels that the set of each example misses at each lambda, (n, m)."""
    scores, lambdas = np.asarray(scores, dtype=np.float64), np.asarray(lambdas, dtype=np.float64)
    labels = np.asarray(labels, dtype=bool)
    if scores.ndim != 2 or labels.shape != scores.shape or lambdas.ndim != 1:
        raise ValueError(
            f"scores {scores.shape} and labels {labels.shape} must be (n, K), lambdas {lambdas.shape} (m,)"
        )
    missed = np.zeros((len(scores), len(lambdas)))
    for column, level in enumerate(lambdas.tolist()):
        missed[:, column] = np.sum(labels & ~members(scores, level), axis=1)
    return missed / np.maximum(labels.sum(axis=1, keepdims=True), 1)


def monotone_losses(losses: np.ndarray) -> np.ndarray:
    """The smallest losses above `losses` that do not increase along the last axis."""
    losses = np.asarray(losses, dtype=np.float64)
    return np.maximum.accumulate(losses[..., ::-1], axis=-1)[..., ::-1]


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
    losses, lambdas = np.asarray(losses, dtype=np.float64), np.asarray(lambdas, dtype=np.float64)
    weights = np.ones(len(losses)) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(lambdas) == 0 or not np.all(np.diff(lambdas) > 0.0):
        raise ValueError("lambdas must be a strictly increasing grid of at least one value")
    if losses.shape != (len(losses), len(lambdas)):
        raise ValueError(f"losses {losses.shape} do not have one column for each of {len(lambdas)} lambdas")
    if not np.all(losses <= bound):
        raise ValueError(f"a loss is larger than the bound {bound}, or is not a number")
    if weights.shape != (len(losses),) or np.any(weights < 0.0) or test_weight < 0.0:
        raise ValueError(f"weights {weights.shape} must be {len(losses)} numbers, none of them negative")
    total = weights.sum() + test_weight
    if total == 0.0:
        raise ValueError("all weights are 0")
    risks = (weights @ monotone_losses(losses) + test_weight * bound) / total
    met = risks <= alpha + SLACK
    position = int(np.argmax(met)) if met.any() else len(lambdas) - 1
    return Choice(position, float(lambdas[position]), float(risks[position]), bool(met[position]))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
