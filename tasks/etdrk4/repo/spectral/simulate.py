"""The driver: run an equation from a named initial state and sum up what happened."""

from __future__ import annotations

import numpy as np

from .equations import SemilinearEquation
from .integrator import integrate
from .scheme import Trajectory


def soliton(grid_points: np.ndarray, length: float, speed: float) -> np.ndarray:
    """A soliton of the Korteweg-de Vries equation (dispersion 1) in the middle of the interval."""
    shape = np.cosh(0.5 * np.sqrt(speed) * (grid_points - 0.5 * length))
    return 3.0 * speed / shape**2


def run(equation: SemilinearEquation, initial: np.ndarray, duration: float, steps: int) -> Trajectory:
    """`steps` equal steps over `duration`, about ten of them saved."""
    return integrate(equation, initial, step=duration / steps, steps=steps, save_every=max(1, steps // 10))


def invariants(trajectory: Trajectory, length: float) -> dict[str, np.ndarray]:
    """Mass and energy (the integrals of u and of u squared over the interval) of each saved state."""
    spacing = length / trajectory.states.shape[1]
    return {
        "mass": spacing * trajectory.states.sum(axis=1),
        "energy": spacing * (trajectory.states**2).sum(axis=1),
    }


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
