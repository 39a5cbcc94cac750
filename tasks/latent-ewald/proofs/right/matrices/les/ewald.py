"""The energy as a quadratic form: a matrix of pair interactions, from which everything else is derived."""

import numpy as np
from scipy.special import erf

from .kspace import k_indices
from .units import EPSILON_0


def _reciprocal(system, settings):
    k = 2.0 * np.pi * np.linalg.solve(system.cell, k_indices(system.cell, settings.cutoff).T).T
    square = (k * k).sum(axis=1)
    factor = np.exp(-square * settings.sigma**2 / 2.0) / (EPSILON_0 * np.abs(np.linalg.det(system.cell)) * square)
    return k, square, factor


def _coulomb(system, settings):
    """Matrix with half of q A q being the energy, and its derivative `(N, N, 3)` by the first atom's position."""
    apart = system.positions[:, None, :] - system.positions[None, :, :]
    size = len(apart)
    own = np.eye(size) / (EPSILON_0 * settings.sigma * (2.0 * np.pi) ** 1.5)
    if system.cell is None:
        scaled = apart / (np.sqrt(2.0) * settings.sigma)
        y = (scaled**2).sum(axis=-1)
        x = np.sqrt(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(x > 0.1, erf(x) / x, 2.0 / np.sqrt(np.pi) * sum((-y) ** n / _odd(n) for n in range(8)))
            far = (erf(x) / x - 2.0 / np.sqrt(np.pi) * np.exp(-y)) / y
        near = 4.0 / np.sqrt(np.pi) * sum((-y) ** (n - 1) * n / _odd(n) for n in range(1, 9))
        slope = np.where(x > 0.1, far, near)
        matrix = value / (4.0 * np.pi * EPSILON_0 * np.sqrt(2.0) * settings.sigma)
        gradient = -slope[..., None] * scaled / (4.0 * np.pi * EPSILON_0 * 2.0 * settings.sigma**2)
        matrix = matrix - np.diag(np.diag(matrix))
        return (matrix + own if settings.self_interaction else matrix), gradient
    k, _, factor = _reciprocal(system, settings)
    angles = apart @ k.T
    matrix = 2.0 * np.cos(angles) @ factor
    gradient = -2.0 * (np.sin(angles) * factor) @ k
    return (matrix if settings.self_interaction else matrix - own), gradient


def _odd(n):
    """(2 n + 1) n!"""
    return (2 * n + 1) * float(np.prod(np.arange(1, n + 1)))


def energy(system, settings):
    """Half of q A q, summed over the channels."""
    matrix, _ = _coulomb(system, settings)
    return float(np.einsum("ic,ij,jc->", system.charges, matrix, system.charges) / 2.0)


def forces(system, settings, jacobian=None):
    """Minus q grad A q minus (A q) dq/dr."""
    matrix, gradient = _coulomb(system, settings)
    result = -np.einsum("ic,ijb,jc->ib", system.charges, gradient, system.charges)
    if jacobian is None:
        return result
    jacobian = np.asarray(jacobian).astype(np.float64)
    if jacobian.shape != system.charges.shape + system.positions.shape:
        raise ValueError("the jacobian must be (N, C, N, 3)")
    return result - np.tensordot(matrix @ system.charges, jacobian, axes=2)


def stress(system, settings):
    """From the energies of the waves."""
    if system.cell is None:
        raise ValueError("stress of an isolated system")
    k, square, factor = _reciprocal(system, settings)
    angles = system.positions @ k.T
    parts = factor * ((system.charges.T @ np.cos(angles)) ** 2 + (system.charges.T @ np.sin(angles)) ** 2).sum(axis=0)
    tensor = np.einsum("m,ma,mb->ab", parts * (settings.sigma**2 + 2.0 / square), k, k)
    return (tensor - parts.sum() * np.identity(3)) / np.abs(np.linalg.det(system.cell))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
