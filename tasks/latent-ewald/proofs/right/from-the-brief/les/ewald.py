"""The long-range energy of latent charges and its derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import erf, gammainc

from .kspace import half_space
from .settings import Settings
from .system import System
from .units import EPSILON_0

# Phases (k-vectors times atoms) and pairs of atoms that are held at once.
_BLOCK = 1_000_000


@dataclass(frozen=True, eq=False)
class _Waves:
    """Some k-vectors of one half: vectors `(m, 3)`, factors `(m,)`, phases `(m, N)`, structure factors `(m, C)`."""

    vectors: np.ndarray
    squares: np.ndarray
    factors: np.ndarray
    phases: np.ndarray
    structure: np.ndarray


def _waves(system: System, settings: Settings) -> tuple[float, Iterator[_Waves]]:
    """The volume, and the k-vectors in blocks; `factors` are those of |S|^2 in (2), both of k and -k."""
    _, indices, cell = half_space(system.cell, settings.cutoff)
    inverse = np.linalg.inv(cell)
    volume = abs(float(np.linalg.det(cell)))
    fractional = system.positions @ inverse
    fractional = fractional - np.rint(fractional)  # images do not matter, and phases are more accurate without

    def blocks() -> Iterator[_Waves]:
        size = max(1, _BLOCK // len(fractional))
        for start in range(0, len(indices), size):
            some = indices[start : start + size].astype(np.float64)
            vectors = 2.0 * np.pi * some @ inverse.T
            squares = np.sum(vectors**2, axis=1)
            factors = np.exp(-0.5 * settings.sigma**2 * squares) / (squares * EPSILON_0 * volume)
            phases = np.exp(2j * np.pi * (some @ fractional.T))
            yield _Waves(vectors, squares, factors, phases, phases @ system.charges)

    return volume, blocks()


def _self_factor(settings: Settings) -> float:
    """What multiplies the sum of squared charges in (4)."""
    return 1.0 / (2.0 * EPSILON_0 * settings.sigma * (2.0 * np.pi) ** 1.5)


def _pairs(system: System) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Some atoms at a time: which, their vectors from all atoms `(m, N, 3)`, and distances, infinite from themselves."""
    positions = system.positions
    size = max(1, _BLOCK // len(positions))
    for start in range(0, len(positions), size):
        some = slice(start, min(start + size, len(positions)))
        apart = positions[some, None] - positions
        distances = np.linalg.norm(apart, axis=-1)
        rows = np.arange(some.stop - some.start)
        distances[rows, rows + start] = np.inf
        yield some, apart, distances


def _kernel(distances: np.ndarray, sigma: float) -> np.ndarray:
    """g of (3)."""
    positive = distances > 0.0
    safe = np.where(positive, distances, 1.0)
    return np.where(positive, erf(safe / (np.sqrt(2.0) * sigma)) / safe, np.sqrt(2.0 / np.pi) / sigma)


def _slope(distances: np.ndarray, sigma: float) -> np.ndarray:
    """-g'(r) / r. The bracket of g' is the incomplete gamma function P(3/2, x^2), which knows no cancellation."""
    x = distances / (np.sqrt(2.0) * sigma)
    near = x < 1e-5
    safe = np.where(near, 1.0, distances)
    with np.errstate(under="ignore", over="ignore"):
        far = gammainc(1.5, np.where(near, 1.0, x) ** 2) / safe / safe / safe
    return np.where(near, np.sqrt(2.0 / np.pi) / (3.0 * sigma**3), far)


def energy(system: System, settings: Settings) -> float:
    """Long-range energy in eV, summed over the channels."""
    itself = _self_factor(settings) * np.sum(system.charges**2)
    total = 0.0
    if system.cell is not None:
        for waves in _waves(system, settings)[1]:
            total += np.sum(waves.factors * np.sum(np.abs(waves.structure) ** 2, axis=1))
        return float(total if settings.self_interaction else total - itself)
    for some, _, distances in _pairs(system):
        total += np.sum(system.charges[some] * (_kernel(distances, settings.sigma) @ system.charges))
    total /= 8.0 * np.pi * EPSILON_0
    return float(total + itself if settings.self_interaction else total)


def forces(system: System, settings: Settings, jacobian: np.ndarray | None = None) -> np.ndarray:
    """Forces `(N, 3)` in eV/Angstrom; with a jacobian of the charges, total derivatives."""
    charges = system.charges
    if jacobian is not None:
        jacobian = np.asarray(jacobian, dtype=np.float64)
        if jacobian.shape != (*charges.shape, len(charges), 3):
            raise ValueError(f"the jacobian must be {(*charges.shape, len(charges), 3)}, not {jacobian.shape}")
    result = np.zeros(system.positions.shape)
    potential = np.zeros(charges.shape)  # the derivatives of the energy by the charges
    if system.cell is not None:
        for waves in _waves(system, settings)[1]:
            weighted = 2.0 * waves.factors[:, None] * np.conj(waves.structure)  # (m, C)
            fields = (weighted @ charges.T) * waves.phases  # (m, N)
            result += np.imag(fields).T @ waves.vectors
            potential += np.real(waves.phases.T @ weighted)
        if not settings.self_interaction:
            potential -= 2.0 * _self_factor(settings) * charges
    else:
        unit = 1.0 / (4.0 * np.pi * EPSILON_0)
        for some, apart, distances in _pairs(system):
            pull = unit * (charges[some] @ charges.T) * _slope(distances, settings.sigma)
            result[some] = np.einsum("ij,ija->ia", pull, apart)
            potential[some] = unit * (_kernel(distances, settings.sigma) @ charges)
        if settings.self_interaction:
            potential += 2.0 * _self_factor(settings) * charges
    if jacobian is not None:
        result -= np.einsum("jc,jcib->ib", potential, jacobian)
    return result


def stress(system: System, settings: Settings) -> np.ndarray:
    """Stress `(3, 3)` of a periodic system at fixed charges, in eV/Angstrom^3."""
    if system.cell is None:
        raise ValueError("an isolated system has no stress")
    volume, blocks = _waves(system, settings)
    result = np.zeros((3, 3))
    for waves in blocks:
        energies = waves.factors * np.sum(np.abs(waves.structure) ** 2, axis=1)
        stretched = energies * (settings.sigma**2 + 2.0 / waves.squares)
        result += (waves.vectors.T * stretched) @ waves.vectors - np.sum(energies) * np.eye(3)
    return result / volume


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
