"""What the optimizer remembers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Matrices = tuple[np.ndarray | None, ...]  # one entry per axis


@dataclass(frozen=True, eq=False)
class State:
    """The state of one parameter. All arrays are float64.

    step: number of updates so far, those that collect included.
    first: M of (2), in the parameter's shape and coordinates.
    second: V of (3), in the parameter's shape and the coordinates of the bases.
    preconditioners, bases: for each axis a square matrix, or None for an axis that is not preconditioned.
    """

    step: int
    first: np.ndarray
    second: np.ndarray
    preconditioners: Matrices
    bases: Matrices


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
