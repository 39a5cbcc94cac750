"""The long-range energy of latent charges and its derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erf, gammainc

from .kspace import k_indices
from .settings import Settings
from .system import System
from .units import EPSILON_0


@dataclass(frozen=True, eq=False)
class Waves:
    """All that the periodic sums share, for half of the M k-vectors of a cell."""

    k: np.ndarray  # (M, 3)
    weights: np.ndarray  # (M,): 2 exp(-sigma^2 k^2 / 2) / (epsilon_0 V k^2), so that E = sum of weights |S|^2 / 2
    phases: np.ndarray  # (N, M): exp(i k . r)
    structure: np.ndarray  # (C, M): S(k) of each channel


def waves(system: System, settings: Settings) -> Waves:
    """Phases and structure factors of a periodic system."""
    indices = k_indices(system.cell, settings.cutoff)
    k = 2.0 * np.pi * indices @ np.linalg.inv(system.cell).T
    phases = np.exp(1j * system.positions @ k.T)
    squares = np.sum(k**2, axis=1)
    volume = abs(np.linalg.det(system.cell))
    weights = 2.0 * np.exp(-0.5 * settings.sigma**2 * squares) / (EPSILON_0 * volume * squares)
    return Waves(k=k, weights=weights, phases=phases, structure=system.charges.T @ phases)


def self_energy(settings: Settings) -> float:
    """Energy of one Gaussian of unit charge with itself."""
    return 0.5 / (EPSILON_0 * settings.sigma * (2.0 * np.pi) ** 1.5)


def pair_energies(distances: np.ndarray, sigma: float) -> np.ndarray:
    """Energy of two Gaussians of unit charge; at distance 0 the limit, which is twice the self-energy."""
    limit = np.full(distances.shape, np.sqrt(2.0 / np.pi) / sigma)
    kernel = np.divide(erf(distances / (np.sqrt(2.0) * sigma)), distances, out=limit, where=distances > 0.0)
    return kernel / (4.0 * np.pi * EPSILON_0)


def potentials(system: System, settings: Settings) -> np.ndarray:
    """Derivative of the energy by the charges, `(N, C)`."""
    own = 2.0 * self_energy(settings) * system.charges
    if system.cell is None:
        apart = system.positions[:, None] - system.positions
        kernel = pair_energies(np.linalg.norm(apart, axis=-1), settings.sigma)
        found = kernel @ system.charges
    else:
        parts = waves(system, settings)
        found = ((parts.weights * parts.structure.conj()) @ parts.phases.T).real.T
    return found if settings.self_interaction else found - own


def energy(system: System, settings: Settings) -> float:
    """Long-range energy in eV, summed over the channels.

    The energy is a quadratic form of the charges, in free space and in a cell.
    """
    return float(0.5 * np.sum(system.charges * potentials(system, settings)))


def forces(system: System, settings: Settings, jacobian: np.ndarray | None = None) -> np.ndarray:
    """Forces `(N, 3)` in eV/Angstrom; with a jacobian of the charges, total derivatives."""
    if system.cell is None:
        apart = system.positions[:, None] - system.positions
        # Below this distance the force is linear to ten digits, and powers of distances would underflow.
        distances = np.maximum(np.linalg.norm(apart, axis=-1), 1e-5 * settings.sigma)
        # erf(x) - 2 x exp(-x^2) / sqrt(pi) without the cancellation of small x
        bracket = gammainc(1.5, 0.5 * (distances / settings.sigma) ** 2) / (4.0 * np.pi * EPSILON_0)
        slope = bracket / distances**2
        found = np.einsum("ij,ijb->ib", (system.charges @ system.charges.T) * slope, apart / distances[:, :, None])
    else:
        parts = waves(system, settings)
        mixed = system.charges @ (parts.weights * parts.structure.conj())
        found = (mixed * parts.phases).imag @ parts.k
    if jacobian is None:
        return found
    expected = (*system.charges.shape, *system.positions.shape)
    if jacobian.shape != expected:
        raise ValueError(f"the jacobian has shape {jacobian.shape}, expected {expected}")
    return found - np.einsum("jc,jcib->ib", potentials(system, settings), jacobian)


def stress(system: System, settings: Settings) -> np.ndarray:
    """Stress `(3, 3)` of a periodic system at fixed charges, in eV/Angstrom^3.

    Structure factors do not change under strain; the volume, and the lengths of the k-vectors, do.
    """
    if system.cell is None:
        raise ValueError("an isolated system has no stress")
    parts = waves(system, settings)
    terms = 0.5 * parts.weights * np.sum(np.abs(parts.structure) ** 2, axis=0)
    squares = np.sum(parts.k**2, axis=1)
    lengths = (parts.k * (terms * (settings.sigma**2 + 2.0 / squares))[:, None]).T @ parts.k
    return (lengths - np.sum(terms) * np.eye(3)) / abs(np.linalg.det(system.cell))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
