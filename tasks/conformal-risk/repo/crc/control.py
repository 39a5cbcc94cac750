"""Conformal risk control (Angelopoulos et al., ICLR 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .results import Choice
from .sets import members
from .settings import SLACK


def false_negative_rates(scores: np.ndarray, labels: np.ndarray, lambdas: np.ndarray) -> np.ndarray:
    """Share of the true labels that the set of each example misses at each lambda, (n, m)."""
    raise NotImplementedError


def monotone_losses(losses: np.ndarray) -> np.ndarray:
    """The smallest losses above `losses` that do not increase along the last axis."""
    raise NotImplementedError


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
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
