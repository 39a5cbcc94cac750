"""Covariance functions. Calling one gives a matrix, `diag` its diagonal without the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Kernel(Protocol):
    """A positive semi-definite function of two points, over whole sets of them at a time."""

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the (n, k) covariances between points x (n, d) and y (k, d)."""
        ...

    def diag(self, x: np.ndarray) -> np.ndarray:
        """Return the (n,) variances at points x (n, d)."""
        ...


@dataclass(frozen=True)
class RBF:
    """variance * exp(-|x - y|^2 / (2 lengthscale^2)); the lengthscale is one number, or one per dimension."""

    variance: float = 1.0
    lengthscale: float | np.ndarray = 1.0

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y = x / self.lengthscale, y / self.lengthscale
        squared = np.sum(x**2, axis=1)[:, None] + np.sum(y**2, axis=1) - 2.0 * x @ y.T
        return self.variance * np.exp(-0.5 * np.maximum(squared, 0.0))

    def diag(self, x: np.ndarray) -> np.ndarray:
        return np.full(len(x), float(self.variance))


@dataclass(frozen=True)
class Linear:
    """variance * <x, y>: straight lines through the origin."""

    variance: float = 1.0

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.variance * x @ y.T

    def diag(self, x: np.ndarray) -> np.ndarray:
        return self.variance * np.sum(x**2, axis=1)


@dataclass(frozen=True)
class Sum:
    """The sum of two kernels."""

    first: Kernel
    second: Kernel

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.first(x, y) + self.second(x, y)

    def diag(self, x: np.ndarray) -> np.ndarray:
        return self.first.diag(x) + self.second.diag(x)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
