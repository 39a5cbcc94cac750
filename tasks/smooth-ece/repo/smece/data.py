"""Forecasts."""

from __future__ import annotations

import numpy as np


def checked(predictions: np.ndarray, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64; ValueError unless they are (n,) with the same n >= 1 and all values are in [0, 1]."""
    arrays = np.asarray(predictions, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    if arrays[0].ndim != 1 or arrays[0].shape != arrays[1].shape or not len(arrays[0]):
        raise ValueError(f"predictions {arrays[0].shape} and outcomes {arrays[1].shape} must be (n,), with n >= 1")
    for name, values in zip(("predictions", "outcomes"), arrays, strict=True):
        if not np.all((values >= 0.0) & (values <= 1.0)):
            raise ValueError(f"{name} must be in [0, 1]")
    return arrays


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
