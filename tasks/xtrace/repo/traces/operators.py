"""Matrices that are known through products only."""

from __future__ import annotations

import numpy as np


class Operator:
    """A real square matrix of size `size`; `products` counts the vectors it was multiplied by."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._matrix = np.array(matrix, dtype=np.float64)
        self.size = len(self._matrix)
        self.products = 0

    def apply(self, vectors: np.ndarray) -> np.ndarray:
        """The product with the columns of a float64 array `(size, c)`, also for c = 0, as a new array."""
        if vectors.dtype != np.float64 or vectors.ndim != 2 or len(vectors) != self.size:
            raise ValueError(f"{vectors.dtype} vectors {vectors.shape} are not float64 of the shape ({self.size}, c)")
        self.products += vectors.shape[1]
        return self._matrix @ vectors


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
