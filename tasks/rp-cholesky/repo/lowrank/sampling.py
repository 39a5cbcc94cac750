"""Random choices of randomly pivoted Cholesky: pivots by weight, and the rejection of proposals."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .results import NEGLIGIBLE


def draw(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Indices `(m,)`, one for each of the given numbers, in proportion to the weights `(n,)`."""
    raise NotImplementedError


def rejection(block: np.ndarray, uniforms: np.ndarray, limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Positions that are accepted out of a block of proposals, and the Cholesky factor of their part of the block."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
