"""Positive-semidefinite matrices whose entries are computed on request, and counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Gaussian:
    """The kernel `scale * exp(-|x - y|^2 / (2 width^2))`."""

    width: float
    scale: float = 1.0

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Values for all pairs of a row of x `(n, d)` and a row of y `(m, d)`, `(n, m)`."""
        distance = np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
        return self.scale * np.exp(-0.5 * distance / self.width**2)

    def diagonal(self, x: np.ndarray) -> np.ndarray:
        """Values for each row of x with itself, `(n,)`."""
        return self.scale * (1.0 + 0.0 * np.sum(x, axis=1))


@dataclass(frozen=True)
class Linear:
    """The kernel `scale * x . y`: a matrix whose rank is at most the dimension of the points."""

    scale: float = 1.0

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Values for all pairs of a row of x `(n, d)` and a row of y `(m, d)`, `(n, m)`."""
        return self.scale * (x @ y.T)

    def diagonal(self, x: np.ndarray) -> np.ndarray:
        """Values for each row of x with itself, `(n,)`."""
        return self.scale * np.sum(x**2, axis=1)


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
