"""The k-vectors of a cell."""

from __future__ import annotations

import numpy as np


def k_indices(cell: np.ndarray, cutoff: float) -> np.ndarray:
    """Integer indices `(M, 3)` of one of each pair k, -k of reciprocal lattice vectors within the cutoff."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
