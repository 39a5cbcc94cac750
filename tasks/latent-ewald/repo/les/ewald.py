"""The long-range energy of latent charges and its derivatives."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .kspace import k_indices
from .settings import Settings
from .system import System
from .units import EPSILON_0


def energy(system: System, settings: Settings) -> float:
    """Long-range energy in eV, summed over the channels."""
    raise NotImplementedError


def forces(system: System, settings: Settings, jacobian: np.ndarray | None = None) -> np.ndarray:
    """Forces `(N, 3)` in eV/Angstrom; with a jacobian of the charges, total derivatives."""
    raise NotImplementedError


def stress(system: System, settings: Settings) -> np.ndarray:
    """Stress `(3, 3)` of a periodic system at fixed charges, in eV/Angstrom^3."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
