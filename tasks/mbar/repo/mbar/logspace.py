"""Sums of exponentials that neither overflow nor vanish."""

from __future__ import annotations

import numpy as np


def logsumexp(exponents: np.ndarray, axis: int) -> np.ndarray:
    """`log(sum(exp(exponents)))` along `axis`; -inf where all exponents are -inf (a sum of zeros)."""
    highest = np.max(exponents, axis=axis, keepdims=True)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(exponents - highest), axis=axis))
    return total + np.squeeze(highest, axis=axis)


def log(values: np.ndarray) -> np.ndarray:
    """Natural logarithm with -inf for 0, silently."""
    with np.errstate(divide="ignore"):
        return np.log(values)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
