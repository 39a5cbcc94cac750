"""Randomly pivoted Cholesky (Chen et al. 2022), and its acceleration by rejection sampling (Epperly et al. 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .matrices import KernelMatrix
from .results import NEGLIGIBLE, Approximation
from .sampling import draw, rejection
from .stream import Uniforms


def rpcholesky(matrix: KernelMatrix, rank: int, stream: Uniforms, tolerance: float = 0.0) -> Approximation:
    """Randomly pivoted Cholesky, one pivot at a time."""
    raise NotImplementedError


def accelerated(matrix: KernelMatrix, rank: int, block: int, stream: Uniforms, tolerance: float = 0.0) -> Approximation:
    """The same distribution of pivots, from blocks of proposals some of which are rejected."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
