"""Test vectors."""

from __future__ import annotations

import numpy as np


def gaussian(rng: np.random.Generator, size: int, count: int) -> np.ndarray:
    """Independent standard normal vectors, `(size, count)`; their directions are uniform on the sphere."""
    return rng.standard_normal((size, count))


def signs(rng: np.random.Generator, size: int, count: int) -> np.ndarray:
    """Independent vectors of random signs, `(size, count)` float64."""
    return rng.choice([-1.0, 1.0], (size, count))


def checked(vectors: np.ndarray, size: int) -> np.ndarray:
    """Test vectors as a float64 array `(size, k)`; ValueError for another shape, or for k = 0."""
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim != 2 or len(array) != size or array.shape[1] == 0:
        raise ValueError(f"test vectors {array.shape} are not the columns of a ({size}, k) array with k > 0")
    return array


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
