"""Distinguishable particles in a harmonic trap, and a Gaussian wavefunction for them.

The wavefunction is log psi(x) = -1/2 sum over j of theta_j x_j^2 for the n d coordinates x_j, theta_j > 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Trap:
    """masses: `(n,)`, frequencies: `(n, d)`, of the trap along each axis."""

    masses: np.ndarray
    frequencies: np.ndarray

    def potentials(self, walkers: np.ndarray) -> np.ndarray:
        """Potential energies `(N,)` of walkers `(N, n, d)`."""
        return 0.5 * np.sum(self.masses[:, None] * (self.frequencies * walkers) ** 2, axis=(1, 2))

    def lowest_energy(self) -> float:
        """The energy of the ground state."""
        return float(0.5 * np.sum(self.frequencies))


def sample(rng: np.random.Generator, parameters: np.ndarray, count: int, shape: tuple[int, int]) -> np.ndarray:
    """Walkers `(count, n, d)` from |psi|^2."""
    return rng.standard_normal((count, *shape)) / np.sqrt(2.0 * parameters.reshape(shape))


def log_derivatives(parameters: np.ndarray, walkers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of log psi: by parameters `(N, n d)`, by coordinates `(N, n, d)`, and the Laplacians `(N, n)`."""
    theta = parameters.reshape(walkers.shape[1:])
    laplacians = np.broadcast_to(-theta.sum(axis=1), walkers.shape[:2])
    return -0.5 * walkers.reshape(len(walkers), -1) ** 2, -theta * walkers, laplacians


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
