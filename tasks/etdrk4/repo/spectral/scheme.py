"""What a time-stepping scheme needs and what it gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The numbers of ETDRK4 for one step size, computed once; arrays with the shape of the eigenvalues.

    step: the step size h.
    full, half: exp(h L) and exp(h L / 2).
    inner: weight of N in the inner stages.
    first, middle, last: weights of N at the start, at each of the two midpoint stages, and at the end of the step.
    """

    step: float
    full: np.ndarray
    half: np.ndarray
    inner: np.ndarray
    first: np.ndarray
    middle: np.ndarray
    last: np.ndarray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Saved states: `times` `(S,)` float64 and `states` `(S, size)` float64, values on the grid."""

    times: np.ndarray
    states: np.ndarray


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
