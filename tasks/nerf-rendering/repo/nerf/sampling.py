"""Where along a ray to look (Mildenhall et al. 2020, sections 4 and 5.2)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .settings import SPACINGS


def stratified(
    near: np.ndarray, far: np.ndarray, count: int, jitter: np.ndarray | None = None, spacing: str = "linear"
) -> np.ndarray:
    """Depths of `count` samples per ray, one in each of `count` equal bins between `near` and `far`."""
    raise NotImplementedError


def resample(edges: np.ndarray, weights: np.ndarray, uniforms: np.ndarray, floor: float = 1e-5) -> np.ndarray:
    """Depths drawn from a piecewise constant density by inverting its distribution function."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
