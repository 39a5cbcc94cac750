"""The response of the polarisation to displacements."""

from __future__ import annotations

import numpy as np

from .system import System


def born_charges(
    system: System, jacobian: np.ndarray | None = None, epsilon_inf: float = 1.0, neutral: bool = True
) -> np.ndarray:
    """Born effective charges `(N, 3, 3)`: derivative of polarisation component a by displacement b of atom i."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
