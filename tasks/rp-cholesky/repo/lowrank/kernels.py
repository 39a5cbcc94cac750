"""Kernels: positive-semidefinite functions of two points."""

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


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
