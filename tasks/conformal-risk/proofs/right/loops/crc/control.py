"""Conformal risk control, element by element."""

from __future__ import annotations

import math

import numpy as np

from .results import Choice
from .settings import SLACK


def false_negative_rates(scores, labels, lambdas):
    """Share of the true labels that the set of each example misses at each lambda."""
    scores = np.array(scores, dtype=float)
    truth = np.array(labels) != 0
    levels = np.array(lambdas, dtype=float)
    if scores.ndim != 2 or truth.shape != scores.shape or levels.ndim != 1:
        raise ValueError("shapes do not fit")
    rates = np.zeros((scores.shape[0], levels.size))
    for i, (row, true) in enumerate(zip(scores, truth, strict=True)):
        wanted = row[true]
        for j, level in enumerate(levels):
            if wanted.size:
                rates[i, j] = 1.0 - np.count_nonzero(wanted >= 1.0 - level) / wanted.size
    return rates


def monotone_losses(losses):
    """The largest value from each place on."""
    result = np.array(losses, dtype=float)
    for column in range(result.shape[-1] - 2, -1, -1):
        result[..., column] = np.maximum(result[..., column], result[..., column + 1])
    return result


def choose_lambda(losses, lambdas, alpha, *, bound=1.0, weights=None, test_weight=1.0):
    """The smallest lambda that meets the condition, from the left."""
    table = np.array(losses, dtype=float)
    grid = [float(each) for each in lambdas]
    if not grid or any(b <= a for a, b in zip(grid, grid[1:], strict=False)):
        raise ValueError("lambdas must increase")
    if table.ndim != 2 or table.shape[1] != len(grid):
        raise ValueError("losses and lambdas do not fit")
    count = table.shape[0]
    share = [1.0] * count if weights is None else np.array(weights, dtype=float).tolist()
    if np.shape(share) != (count,):
        raise ValueError("losses and weights do not fit")
    if min([*share, test_weight]) < 0.0 or math.fsum([*share, test_weight]) == 0.0:
        raise ValueError("weights must be positive or 0, and not all 0")
    if any(math.isnan(loss) or loss > bound for row in table.tolist() for loss in row):
        raise ValueError("losses must be numbers up to the bound")
    total = math.fsum([*share, test_weight])
    for position, value in enumerate(grid):
        worst = [max(row[position:]) for row in table.tolist()]
        terms = [weight * loss for weight, loss in zip(share, worst, strict=True)]
        risk = float(math.fsum([*terms, test_weight * bound]) / total)
        if risk <= alpha + SLACK:
            return Choice(position=position, value=value, risk=risk, satisfied=True)
    return Choice(position=position, value=value, risk=risk, satisfied=False)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
