"""Weighted points in space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Measure:
    """`weights[i]` of mass at `points[i]`."""

    points: np.ndarray  # (n, d)
    weights: np.ndarray  # (n,)

    @classmethod
    def uniform(cls, points: np.ndarray) -> Measure:
        """The same mass on every point."""
        return cls(points=points, weights=np.full(len(points), 1.0 / len(points)))


def squared_euclidean(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the (n, m) matrix of |x_i - y_j|^2 for points x (n, d) and y (m, d)."""
    difference = np.asarray(x, dtype=np.float64)[:, None, :] - np.asarray(y, dtype=np.float64)[None, :, :]
    return np.einsum("ijk,ijk->ij", difference, difference)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
