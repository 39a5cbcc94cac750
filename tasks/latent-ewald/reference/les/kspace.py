"""The k-vectors of a cell."""

from __future__ import annotations

import numpy as np


def k_indices(cell: np.ndarray, cutoff: float) -> np.ndarray:
    """Integer indices `(M, 3)` of one of each pair k, -k of reciprocal lattice vectors within the cutoff."""
    cell = np.asarray(cell, dtype=np.float64)
    # n_d = k . a_d / 2 pi, so that the length of the lattice vector bounds it, whatever the angles.
    bounds = np.floor(cutoff * np.linalg.norm(cell, axis=1) / (2.0 * np.pi)).astype(np.int64)
    axes = [np.arange(-bound, bound + 1) for bound in bounds]
    indices = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    indices = indices[len(indices) // 2 + 1 :]  # lexicographic: the second half has a positive leading index
    k = 2.0 * np.pi * indices @ np.linalg.inv(cell).T
    return indices[np.sum(k**2, axis=1) <= cutoff**2]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
