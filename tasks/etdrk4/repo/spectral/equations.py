"""Semilinear equations `v' = L v + N(v, t)` in mode space, where L is diagonal and stiff."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .grid import FourierGrid

Nonlinear = Callable[[np.ndarray, float], np.ndarray]
"""`(modes, time) -> modes`: everything that is not in the linear part."""


@dataclass(frozen=True, eq=False)
class SemilinearEquation:
    """An equation on a grid.

    eigenvalues: the diagonal of L, one number per mode, real or complex.
    nonlinear: N, evaluated in mode space.
    """

    grid: FourierGrid
    eigenvalues: np.ndarray
    nonlinear: Nonlinear


def kuramoto_sivashinsky(grid: FourierGrid) -> SemilinearEquation:
    """`u_t = -u u_x - u_xx - u_xxxx`: chaos that long waves feed and short waves damp. Real eigenvalues."""
    k = grid.wavenumbers

    def advection(modes: np.ndarray, _time: float) -> np.ndarray:
        return -0.5 * grid.derivative * grid.to_modes(grid.to_values(modes) ** 2)

    return SemilinearEquation(grid, k**2 - k**4, advection)


def korteweg_de_vries(grid: FourierGrid, dispersion: float = 1.0) -> SemilinearEquation:
    """`u_t = -u u_x - dispersion u_xxx`: solitons. Imaginary eigenvalues."""

    def advection(modes: np.ndarray, _time: float) -> np.ndarray:
        return -0.5 * grid.derivative * grid.to_modes(grid.to_values(modes) ** 2)

    return SemilinearEquation(grid, -dispersion * grid.derivative**3, advection)


def forced_diffusion(
    grid: FourierGrid, diffusivity: float, forcing: Callable[[np.ndarray, float], np.ndarray]
) -> SemilinearEquation:
    """`u_t = diffusivity u_xx + forcing(x, t)`: the forcing depends on time, and not on u."""

    def source(_modes: np.ndarray, time: float) -> np.ndarray:
        return grid.to_modes(forcing(grid.points, time))

    return SemilinearEquation(grid, -diffusivity * grid.wavenumbers**2, source)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
