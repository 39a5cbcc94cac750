"""Linear algebra."""

from __future__ import annotations

import numpy as np


def eigenbasis(matrix: np.ndarray) -> np.ndarray:
    """Eigenvectors of a symmetric matrix as columns, those of the largest eigenvalue first."""
    return np.ascontiguousarray(np.linalg.eigh(matrix)[1][:, ::-1])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
