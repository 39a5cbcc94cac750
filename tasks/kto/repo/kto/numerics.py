"""Arithmetic in the log domain."""

from __future__ import annotations

import numpy as np


def logsumexp(values: np.ndarray) -> np.ndarray:
    """Logarithm of the sum of exponentials along the last axis, which has at least one finite value."""
    top = values.max(axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(values - top), axis=-1)) + top[..., 0]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
