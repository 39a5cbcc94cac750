"""What the smoothing returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Weights of S draws.

    log_weights: (S,) float64, normalised, in the order of the draws.
    k: shape of the tail, with the weak prior, float; infinity if nothing was smoothed.
    tail: number of draws whose weights were smoothed, int.
    """

    log_weights: np.ndarray
    k: float
    tail: int


@dataclass(frozen=True)
class Diagnosis:
    """How far an estimate with smoothed weights can be trusted.

    threshold: of the shape, float.
    min_sample_size: number of draws that this shape needs, float.
    effective_sample_size: of the weights, float.
    reliable: whether the shape is below the threshold, bool.
    """

    threshold: float
    min_sample_size: float
    effective_sample_size: float
    reliable: bool


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
