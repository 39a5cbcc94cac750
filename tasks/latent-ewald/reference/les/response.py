"""The response of the polarisation to displacements."""

from __future__ import annotations

import numpy as np

from .system import System


def born_charges(
    system: System, jacobian: np.ndarray | None = None, epsilon_inf: float = 1.0, neutral: bool = True
) -> np.ndarray:
    """Born effective charges `(N, 3, 3)`: derivative of polarisation component a by displacement b of atom i."""
    if not (np.isfinite(epsilon_inf) and epsilon_inf > 0.0):
        raise ValueError(f"epsilon_inf must be positive and finite, not {epsilon_inf}")
    total = system.charges.sum(axis=1)
    if neutral:
        total = total - total.mean()
    found = total[:, None, None] * np.eye(3)
    if jacobian is not None:
        jacobian = np.asarray(jacobian, dtype=np.float64)
        expected = (*system.charges.shape, *system.positions.shape)
        if jacobian.shape != expected:
            raise ValueError(f"the jacobian has shape {jacobian.shape}, expected {expected}")
        slope = jacobian.sum(axis=1)
        if neutral:
            slope = slope - slope.mean(axis=0)
        if system.cell is None:
            found = found + np.einsum("ja,jib->iab", system.positions, slope)
        else:
            fractional = system.positions @ np.linalg.inv(system.cell)
            lag = np.sin(2.0 * np.pi * (fractional[:, None] - fractional)) / (2.0 * np.pi)
            found = found + np.einsum("jid,da,jib->iab", lag, system.cell, slope)
    return np.sqrt(epsilon_inf) * found


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
