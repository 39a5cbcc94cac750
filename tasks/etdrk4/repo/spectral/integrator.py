"""Exponential time differencing, fourth-order Runge-Kutta (Cox & Matthews 2002; Kassam & Trefethen 2005)."""

from __future__ import annotations

import numpy as np

from .equations import Nonlinear, SemilinearEquation
from .scheme import Coefficients, Trajectory


def phi_functions(z: np.ndarray, points: int = 32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The functions phi_1, phi_2, phi_3 of exponential integrators, without cancellation."""
    raise NotImplementedError


def coefficients(eigenvalues: np.ndarray, step: float) -> Coefficients:
    """The coefficients of ETDRK4 for the diagonal linear part `eigenvalues` and the step size `step`."""
    raise NotImplementedError


def advance(modes: np.ndarray, time: float, nonlinear: Nonlinear, coefficients: Coefficients) -> np.ndarray:
    """The modes one step after `time`."""
    raise NotImplementedError


def integrate(
    equation: SemilinearEquation,
    initial: np.ndarray,
    *,
    step: float,
    steps: int,
    save_every: int = 1,
    start: float = 0.0,
) -> Trajectory:
    """`steps` steps from the values `initial` at time `start`."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
