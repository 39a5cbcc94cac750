"""Arithmetic in the log domain."""

import numpy as np


def logsumexp(values: np.ndarray, axis: int) -> np.ndarray:
    """Return log(sum(exp(values))) along one axis, without overflow or underflow.

    A slice that holds nothing but -inf gives -inf: the logarithm of an empty sum.
    """
    peak = np.max(values, axis=axis, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(values - peak), axis=axis, keepdims=True))
    return np.squeeze(total + peak, axis=axis)


def log_weights(weights: np.ndarray) -> np.ndarray:
    """Return log(weights), with -inf for a weight of zero and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
