"""Detection: g-values of a text, and how likely they are without a watermark."""

from __future__ import annotations

import numpy as np

from .seeding import g_values  # noqa: F401
from .settings import Settings


def observe(settings: Settings, tokens: np.ndarray, mask: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the g-values (B, T, depth) of the tokens (B, T) of texts, and which of them count (B, T)."""
    raise NotImplementedError


def mean_score(g: np.ndarray, scored: np.ndarray, weighted: bool = False) -> np.ndarray:
    """Return the mean (B,) of the g-values (B, T, depth) that count."""
    raise NotImplementedError


def bayesian_score(
    g: np.ndarray, scored: np.ndarray, beta: np.ndarray, delta: np.ndarray, prior: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior probability of a watermark and its log-odds, (B,) each."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
