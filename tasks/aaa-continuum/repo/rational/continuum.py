"""AAA on a continuum (Driscoll, Nakatsukasa and Trefethen, SIAM J. Sci. Comput. 2024)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .results import Barycentric, Fit, Roots


def evaluate(rational: Barycentric, points: np.ndarray) -> np.ndarray:
    """Values of a rational function."""
    raise NotImplementedError


def roots(rational: Barycentric) -> Roots:
    """Poles, residues and zeros of a rational function."""
    raise NotImplementedError


def samples(support: np.ndarray, count: int) -> np.ndarray:
    """Sample points between support points."""
    raise NotImplementedError


def aaa(function: Callable[[np.ndarray], np.ndarray], *, tolerance: float = 1e-13, max_degree: int = 40) -> Fit:
    """Rational approximation of a real function on [-1, 1]."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
