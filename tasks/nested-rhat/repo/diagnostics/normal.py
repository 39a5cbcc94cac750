"""Quantiles of the standard normal distribution."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri


def normal_quantile(probability: np.ndarray) -> np.ndarray:
    """Elementwise Phi^-1 of probabilities in (0, 1), float64."""
    return ndtri(np.asarray(probability, dtype=np.float64))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
