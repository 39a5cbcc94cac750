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
