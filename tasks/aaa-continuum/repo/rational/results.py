"""Rational functions, their roots, and what an approximation returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Barycentric:
    """A rational function in the form (1) with m support points.

    support: `(m,)`, m >= 1 different numbers; values: `(m,)`; weights: `(m,)`, not all 0. Each float64 or complex128.
    """

    support: np.ndarray
    values: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Roots:
    """poles: `(a,)` complex128, residues: `(a,)` complex128, of the poles in this order, zeros: `(b,)` complex128."""

    poles: np.ndarray
    residues: np.ndarray
    zeros: np.ndarray


@dataclass(frozen=True, eq=False)
class Fit:
    """An approximation on [-1, 1].

    rational: the approximation, with support points in the order in which they were chosen.
    errors: `(k,)` float64, the relative error at the samples of each iteration.
    converged: whether the tolerance was reached.
    """

    rational: Barycentric
    errors: np.ndarray
    converged: bool


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
