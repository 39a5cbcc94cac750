"""What a simulation returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Step:
    """One leap, one block of exact steps, or a wait.

    kind: "leap", "exact" or "idle".
    duration: float, the time that passed.
    state: (S,) int64, the populations afterwards.
    firings: (R,) int64, how often each reaction happened.
    """

    kind: str
    duration: float
    state: np.ndarray
    firings: np.ndarray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """times: (T + 1,) float64; states: (T + 1, S) int64; kinds: one for each of the T steps."""

    times: np.ndarray
    states: np.ndarray
    kinds: tuple[str, ...]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
