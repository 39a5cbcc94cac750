"""What the objective returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Losses:
    """The loss of a batch of m examples.

    losses: (m,) float64, the loss of each example, equation (5).
    mean: their mean, float.
    rewards: (m,) float64, beta times the log-ratio of each example.
    gradients: (m,) float64, the derivative of `mean` with respect to the log-probability of each example.
    """

    losses: np.ndarray
    mean: float
    rewards: np.ndarray
    gradients: np.ndarray


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
