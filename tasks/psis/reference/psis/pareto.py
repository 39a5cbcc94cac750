"""The generalized Pareto distribution of exceedances."""

from __future__ import annotations

import math

import numpy as np

from .settings import MIN_TAIL, PRIOR_SHAPE, PRIOR_WEIGHT


def gpd_fit(x: np.ndarray, *, weak_prior: bool = True) -> tuple[float, float]:
    """Shape k and scale sigma of the exceedances `x`."""
    x = np.sort(np.asarray(x, dtype=np.float64))
    if x.ndim != 1 or len(x) < MIN_TAIL or not np.all(np.isfinite(x)) or x[0] < 0.0:
        raise ValueError(f"exceedances must be at least {MIN_TAIL} finite numbers, none of them negative")
    n = len(x)
    quartile = x[int(n / 4 + 0.5) - 1]
    if quartile == 0.0 or x[0] == x[-1]:
        raise ValueError("exceedances do not spread enough for a fit")
    count = 30 + math.isqrt(n)
    theta = 1.0 / x[-1] + (1.0 - np.sqrt(count / (np.arange(count) + 0.5))) / (3.0 * quartile)

    def profile(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k = np.log1p(-np.multiply.outer(theta, x)).mean(axis=-1)
        return k, np.where(theta == 0.0, x.mean(), -k / np.where(theta == 0.0, 1.0, theta))

    k, sigma = profile(theta)
    likelihood = n * (-np.log(sigma) - k - 1.0)
    weights = np.exp(likelihood - likelihood.max())
    k, sigma = profile(weights @ theta / weights.sum())
    if weak_prior:
        k = (n * k + PRIOR_WEIGHT * PRIOR_SHAPE) / (n + PRIOR_WEIGHT)
    return float(k), float(sigma)


def gpd_quantile(p: np.ndarray, k: float, sigma: float) -> np.ndarray:
    """Quantiles of the generalized Pareto distribution."""
    p = np.asarray(p, dtype=np.float64)
    if not np.all((p >= 0.0) & (p <= 1.0)) or not sigma > 0.0:
        raise ValueError("probabilities must be from 0 to 1, and sigma positive")
    with np.errstate(divide="ignore"):
        exponential = -np.log1p(-p)
    return sigma * (exponential if k == 0.0 else np.expm1(k * exponential) / k)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
