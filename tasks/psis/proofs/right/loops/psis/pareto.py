"""The generalized Pareto distribution, number by number."""

from __future__ import annotations

import math

import numpy as np

from .settings import MIN_TAIL, PRIOR_SHAPE, PRIOR_WEIGHT


def _shape(theta, x):
    return math.fsum(math.log1p(-theta * each) for each in x) / len(x)


def _scale(theta, x):
    return math.fsum(x) / len(x) if theta == 0.0 else -_shape(theta, x) / theta


def gpd_fit(x, *, weak_prior=True):
    """Shape and scale of the exceedances."""
    x = np.array(x, dtype=float)
    if x.ndim != 1 or x.size < MIN_TAIL:
        raise ValueError("too few exceedances")
    x = sorted(x.tolist())
    if not all(0.0 <= each < math.inf for each in x):
        raise ValueError("exceedances must be finite and not negative")
    n, star = len(x), x[math.floor(len(x) / 4 + 0.5) - 1]
    if star == 0.0 or min(x) == max(x):
        raise ValueError("no spread")
    m = 30 + math.floor(math.sqrt(n))
    grid = [1.0 / max(x) + (1.0 - math.sqrt(m / (j - 0.5))) / (3.0 * star) for j in range(1, m + 1)]
    logs = [n * (-math.log(_scale(theta, x)) - _shape(theta, x) - 1.0) for theta in grid]
    weights = [math.exp(each - max(logs)) for each in logs]
    theta = math.fsum(w * t for w, t in zip(weights, grid, strict=True)) / math.fsum(weights)
    k, sigma = _shape(theta, x), _scale(theta, x)
    return ((n * k + PRIOR_WEIGHT * PRIOR_SHAPE) / (n + PRIOR_WEIGHT) if weak_prior else k), sigma


def _quantile(p, k, sigma):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{p} is no probability")
    if p == 1.0:
        return math.inf if k >= 0.0 else -sigma / k
    level = -math.log1p(-p)
    return sigma * level if k == 0.0 else sigma * (math.expm1(k * level) / k)


def gpd_quantile(p, k, sigma):
    """Quantiles of the distribution."""
    if not sigma > 0.0:
        raise ValueError("sigma must be positive")
    p = np.array(p, dtype=float)
    return np.array([_quantile(each, float(k), float(sigma)) for each in p.ravel().tolist()], dtype=float).reshape(p.shape)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
