"""Positive-semidefinite matrices whose entries are computed on request, and counted."""

from __future__ import annotations

import numpy as np

from .kernels import Gaussian, Linear


class KernelMatrix:
    """The matrix `A[i, j] = kernel(points[i], points[j])`, of which no part is stored.

    `entries` is the number of entries that have been computed so far, repeated ones included.
    """

    def __init__(self, points: np.ndarray, kernel: Gaussian | Linear) -> None:
        self.points = np.array(points, dtype=np.float64)  # (n, d)
        self.kernel = kernel
        self.entries = 0

    @property
    def size(self) -> int:
        """The number n of rows."""
        return len(self.points)

    def diagonal(self) -> np.ndarray:
        """All `A[i, i]`, `(n,)`: n entries."""
        self.entries += self.size
        return self.kernel.diagonal(self.points)

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """`A[:, indices]`, `(n, m)`: n m entries."""
        chosen = self.points[indices]
        self.entries += self.size * len(chosen)
        return self.kernel(self.points, chosen)

    def block(self, indices: np.ndarray) -> np.ndarray:
        """`A[indices][:, indices]`, `(m, m)`, for indices that may repeat: m^2 entries."""
        chosen = self.points[indices]
        self.entries += len(chosen) ** 2
        return self.kernel(chosen, chosen)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
