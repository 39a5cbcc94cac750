"""The driver: kernel ridge regression with an approximate matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cholesky import accelerated
from .kernels import Gaussian, Linear
from .matrices import KernelMatrix
from .stream import Uniforms


@dataclass(frozen=True, eq=False)
class Model:
    """A sum of kernels at the pivots."""

    centres: np.ndarray  # (r, d)
    coefficients: np.ndarray  # (r,)
    kernel: Gaussian | Linear

    def predict(self, points: np.ndarray) -> np.ndarray:
        """Values `(m,)` at points `(m, d)`."""
        return self.kernel(np.asarray(points, dtype=np.float64), self.centres) @ self.coefficients


def fit(
    points: np.ndarray,
    values: np.ndarray,
    kernel: Gaussian | Linear,
    ridge: float,
    rank: int,
    block: int,
    stream: Uniforms,
) -> Model:
    """The minimiser of `|A c - values|^2 + ridge c^T A c` for the approximation of A, as a sum over its pivots."""
    matrix = KernelMatrix(points, kernel)
    found = accelerated(matrix, rank, block, stream)
    factor, triangle = found.factor, found.factor[found.pivots]
    weights = np.linalg.solve(factor.T @ factor + ridge * np.eye(factor.shape[1]), factor.T @ np.asarray(values))
    return Model(matrix.points[found.pivots], np.linalg.solve(triangle.T, weights), kernel)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
