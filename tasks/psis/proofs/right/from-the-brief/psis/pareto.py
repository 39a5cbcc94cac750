"""The generalized Pareto distribution of exceedances."""

from __future__ import annotations

import math

import numpy as np

from .settings import MIN_TAIL, PRIOR_SHAPE, PRIOR_WEIGHT


def gpd_fit(x: np.ndarray, *, weak_prior: bool = True) -> tuple[float, float]:
    """Shape k and scale sigma of the exceedances `x`."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1 or len(x) < MIN_TAIL:
        raise ValueError(f"a fit needs one axis of at least {MIN_TAIL} exceedances, not the shape {x.shape}")
    if not np.all((x >= 0.0) & (x < np.inf)):
        raise ValueError("exceedances must be finite and not negative")
    x, count = np.sort(x), len(x)
    unit = float(x[math.floor(count / 4 + 0.5) - 1])
    if unit == 0.0:
        raise ValueError("too many exceedances are 0")
    if x[0] == x[-1]:
        raise ValueError("all exceedances are equal")

    # in units of x*, so that scales cannot overflow
    x = x / unit
    mean = float(np.mean(x))
    size = 30 + math.isqrt(count)
    grid = 1.0 / x[-1] + (1.0 - np.sqrt(size / (np.arange(size) + 0.5))) / 3.0

    def shape_and_scale(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shape = np.mean(np.log1p(-theta[:, None] * x), axis=1)
        return shape, np.where(theta == 0.0, mean, -shape / np.where(theta == 0.0, 1.0, theta))

    shapes, scales = shape_and_scale(grid)
    profile = count * (-np.log(scales) - shapes - 1.0)
    weights = np.exp(profile - profile.max())
    best = np.sum(weights * grid) / np.sum(weights)
    (k,), (sigma,) = shape_and_scale(np.array([best]))
    if weak_prior:
        k = (count * k + PRIOR_WEIGHT * PRIOR_SHAPE) / (count + PRIOR_WEIGHT)
    return float(k), float(sigma) * unit


def gpd_quantile(p: np.ndarray, k: float, sigma: float) -> np.ndarray:
    """Quantiles of the generalized Pareto distribution."""
    p = np.asarray(p, dtype=np.float64)
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("probabilities must be in [0, 1]")
    if not sigma > 0.0:
        raise ValueError(f"sigma must be positive, not {sigma}")
    k, sigma = float(k), float(sigma)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        exponential = -np.log1p(-p)
        if k == 0.0:
            return sigma * exponential
        if abs(k) < 1e-20:  # no difference to k = 0, but for the end
            return np.where(p < 1.0, sigma * exponential, np.inf if k > 0.0 else -sigma / k)
        return sigma * (np.expm1(k * exponential) / k)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
