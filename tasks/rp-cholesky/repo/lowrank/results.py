"""What an approximation returns, and what counts as zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NEGLIGIBLE = 1e-10
"""A residual that is at most this much of what it was is nothing but rounding."""


@dataclass(frozen=True, eq=False)
class Approximation:
    """`A ~ factor @ factor.T`, which is exact in the rows and columns of the pivots."""

    factor: np.ndarray  # (n, r); factor[pivots] is lower triangular with a positive diagonal
    pivots: np.ndarray  # (r,) int64, in the order in which they were accepted
    residual: np.ndarray  # (n,), diagonal of A - factor @ factor.T; what is negligible is 0
    rounds: int  # how often proposals were drawn
    proposals: int  # how many were drawn in all


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
