"""On-the-fly probability enhanced sampling: the estimate of the distribution, and the bias."""

from __future__ import annotations

import numpy as np

from .kernels import Estimate, Kernels
from .settings import Settings


def density(estimate: Estimate, settings: Settings, points: np.ndarray) -> np.ndarray:
    """The estimated distribution at points, (N,)."""
    raise NotImplementedError


def explored_average(estimate: Estimate, settings: Settings) -> float:
    """The mean of the distribution over what was explored."""
    raise NotImplementedError


def bias(estimate: Estimate, settings: Settings, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bias (N,) at points, and its forces (N, d)."""
    raise NotImplementedError


def compress(kernels: Kernels, settings: Settings, center: np.ndarray, width: np.ndarray, height: float) -> Kernels:
    """The kernels with one more, which may be merged with others."""
    raise NotImplementedError


def update(estimate: Estimate, settings: Settings, point: np.ndarray, bias: float) -> Estimate:
    """The estimate after one more point."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
