"""Arithmetic in the log domain."""

from __future__ import annotations

import numpy as np


def logsumexp(values: np.ndarray, axis: int) -> np.ndarray:
    """Logarithm of the sum of exponentials of finite values along an axis of at least one element."""
    top = values.max(axis=axis, keepdims=True)
    return np.log(np.sum(np.exp(values - top), axis=axis)) + np.squeeze(top, axis=axis)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
