"""Exchangeable estimators of a trace (Epperly, Tropp and Webber, SIAM J. Matrix Anal. Appl. 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from .operators import Operator
from .results import Estimate
from .vectors import checked


def leave_one_out(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Basis of the range of all columns, and for each column the direction that is lost without it."""
    raise NotImplementedError


def xtrace(operator: Operator, vectors: np.ndarray, *, normalise: bool = True) -> Estimate:
    """XTrace for any square matrix."""
    raise NotImplementedError


def xnystrace(operator: Operator, vectors: np.ndarray, *, normalise: bool = True, shift: float = 1e-10) -> Estimate:
    """XNysTrace for a positive semidefinite matrix."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
