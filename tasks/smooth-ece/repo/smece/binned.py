"""The error with bins, for comparison."""

from __future__ import annotations

import numpy as np

from .data import checked


def binned_error(predictions: np.ndarray, outcomes: np.ndarray, bins: int = 15) -> float:
    """The expected calibration error with bins of equal size."""
    predictions, outcomes = checked(predictions, outcomes)
    places = np.minimum((predictions * bins).astype(np.int64), bins - 1)
    sums = np.bincount(places, weights=outcomes - predictions, minlength=bins)
    return float(np.abs(sums).sum() / len(predictions))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
