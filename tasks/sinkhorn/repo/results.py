"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Potentials:
    """Dual variables of an entropic transport problem, and how they were reached."""

    f: np.ndarray  # (n,)
    g: np.ndarray  # (m,)
    iterations: int  # full iterations done, each of which updates f and then g
    error: float  # sum_i |sum_j plan_ij - a_i| after the last one
    converged: bool  # error <= tolerance


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
