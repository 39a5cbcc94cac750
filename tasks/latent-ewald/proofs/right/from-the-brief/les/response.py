"""The response of the polarisation to displacements."""

from __future__ import annotations

import numpy as np

from .system import System


def born_charges(
    system: System, jacobian: np.ndarray | None = None, epsilon_inf: float = 1.0, neutral: bool = True
) -> np.ndarray:
    """Born effective charges `(N, 3, 3)`: derivative of polarisation component a by displacement b of atom i."""
    if not (np.isfinite(epsilon_inf) and epsilon_inf > 0.0):
        raise ValueError(f"the permittivity must be finite and positive, not {epsilon_inf}")
    positions = system.positions
    charges = system.charges.sum(axis=1)
    if neutral:
        charges = charges - charges.mean()
    result = charges[:, None, None] * np.eye(3)
    if jacobian is not None:
        jacobian = np.asarray(jacobian, dtype=np.float64)
        expected = (*system.charges.shape, len(positions), 3)
        if jacobian.shape != expected:
            raise ValueError(f"the jacobian must be {expected}, not {jacobian.shape}")
        slopes = jacobian.sum(axis=1)  # (N, N, 3), of charge j by coordinate b of atom i
        if neutral:
            slopes = slopes - slopes.mean(axis=0)
        if system.cell is None:
            result = result + np.einsum("ja,jib->iab", positions, slopes)
        else:
            fractional = np.linalg.solve(system.cell.T, positions.T)  # (3, N)
            fractional = fractional - np.rint(fractional)
            for vector, s in zip(system.cell, fractional, strict=True):
                turned = np.sin(2.0 * np.pi * (s[:, None] - s)) / (2.0 * np.pi)  # [j, i]
                result = result + vector[:, None] * np.einsum("ji,jib->ib", turned, slopes)[:, None, :]
    return result * np.sqrt(float(epsilon_inf))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
