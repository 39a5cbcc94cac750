"""What an iteration starts from, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class State:
    """The state between iterations.

    parameters: `(P,)` float64, theta_k.
    previous: `(P,)` float64, phi_(k-1).
    iteration: k, 0 for the first one.
    """

    parameters: np.ndarray
    previous: np.ndarray
    iteration: int


@dataclass(frozen=True)
class Summary:
    """Statistics of the walkers of an iteration, Python numbers.

    energy: the mean local energy (its real part).
    error: the standard error of the mean, as if walkers were independent.
    walkers: how many were used.
    """

    energy: float
    error: float
    walkers: int


def first_state(parameters: np.ndarray) -> State:
    """The state before the first iteration."""
    parameters = np.array(parameters, dtype=np.float64)
    return State(parameters=parameters, previous=np.zeros_like(parameters), iteration=0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
