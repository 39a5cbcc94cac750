"""Correlated samples of one simulation, and the independent ones among them."""

from __future__ import annotations

import numpy as np


def statistical_inefficiency(values: np.ndarray) -> float:
    """How many of the `(n,)` values, in the order of time, are worth one independent value; at least 1.

    1 + 2 sum_t (1 - t / n) C(t) with the normalised autocorrelation C, summed up to its first value that is not
    positive.
    """
    count = len(values)
    deviations = np.asarray(values, dtype=np.float64) - np.mean(values)
    variance = np.mean(deviations**2)
    if variance == 0.0:
        return 1.0
    total = 1.0
    for lag in range(1, count):
        correlation = np.mean(deviations[lag:] * deviations[:-lag]) / variance
        if correlation <= 0.0:
            break
        total += 2.0 * (1.0 - lag / count) * float(correlation)
    return total


def independent(values: np.ndarray) -> np.ndarray:
    """Indices of values, evenly spread over a series, that can be taken as independent; none of an empty series."""
    if len(values) == 0:
        return np.arange(0)
    return np.arange(0, len(values), int(np.ceil(statistical_inefficiency(values))))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
