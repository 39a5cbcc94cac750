"""Prediction sets."""

from __future__ import annotations

import numpy as np


def members(scores: np.ndarray, level: float) -> np.ndarray:
    """Which labels are in the set at one lambda, of the shape of `scores`: equation (4)."""
    return scores >= 1.0 - level


def sizes(scores: np.ndarray, level: float) -> np.ndarray:
    """Number of labels in each set, (n,)."""
    return members(scores, level).sum(axis=1)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
