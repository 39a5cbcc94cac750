"""Maps between stored parameters and their values."""

from __future__ import annotations

import numpy as np


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function, without overflow and with full relative accuracy for negative arguments."""
    small = np.exp(-np.abs(x))
    return np.where(np.asarray(x) < 0.0, small, 1.0) / (1.0 + small)


def logit(p: np.ndarray) -> np.ndarray:
    """The inverse of `sigmoid` for values in (0, 1)."""
    return np.log(p) - np.log1p(-np.asarray(p))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
