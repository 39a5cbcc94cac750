"""SPRING (Goldshlager, Abrahamsen and Lin, 2024)."""

from __future__ import annotations

import numpy as np

from .settings import Settings
from .state import State, Summary


def local_energies(
    gradients: np.ndarray, laplacians: np.ndarray, potentials: np.ndarray, masses: np.ndarray
) -> np.ndarray:
    """Local energies of walkers."""
    raise NotImplementedError


def clip_energies(energies: np.ndarray, width: float | None) -> np.ndarray:
    """Local energies without outliers."""
    raise NotImplementedError


def direction(
    derivatives: np.ndarray, energies: np.ndarray, previous: np.ndarray, *, damping: float, momentum: float
) -> np.ndarray:
    """The direction phi_k of SPRING."""
    raise NotImplementedError


def step(state: State, derivatives: np.ndarray, energies: np.ndarray, settings: Settings) -> tuple[State, Summary]:
    """One iteration: the next state, and statistics of the walkers."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
