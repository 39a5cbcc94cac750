"""The driver: everything long-ranged about a configuration, with charges that follow the atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .ewald import energy, forces
from .latent import DensityCharges
from .response import born_charges
from .settings import Settings
from .system import System


@dataclass(frozen=True, eq=False)
class Result:
    """Energy in eV, forces `(N, 3)` in eV/Angstrom, Born effective charges `(N, 3, 3)` in e."""

    energy: float
    forces: np.ndarray
    born_charges: np.ndarray


def evaluate(
    latent: DensityCharges,
    positions: np.ndarray,
    cell: np.ndarray | None = None,
    settings: Settings | None = None,
    epsilon_inf: float = 1.0,
) -> Result:
    """Predict the latent charges of a configuration, and what follows from them."""
    settings = settings or Settings()
    charges, jacobian = latent.charges(positions, cell)
    system = System(positions, charges, cell)
    return Result(
        energy=energy(system, settings),
        forces=forces(system, settings, jacobian),
        born_charges=born_charges(system, jacobian, epsilon_inf),
    )


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
