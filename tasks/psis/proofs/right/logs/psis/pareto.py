"""The generalized Pareto distribution in terms of b = k / sigma, with scaled exceedances."""

from __future__ import annotations

import numpy as np

from .settings import MIN_TAIL, PRIOR_SHAPE, PRIOR_WEIGHT


def gpd_fit(x: np.ndarray, *, weak_prior: bool = True) -> tuple[float, float]:
    """Shape and scale of the exceedances."""
    x = np.array(x, dtype=np.float64)
    if x.ndim != 1 or x.size < MIN_TAIL or np.isnan(x).any() or np.isinf(x).any() or (x < 0.0).any():
        raise ValueError("exceedances must be a vector of finite numbers that are not negative")
    size = x.size
    place = (size + 2) // 4 - 1
    star = np.partition(x, place)[place]
    if star <= 0.0 or np.ptp(x) == 0.0:
        raise ValueError("exceedances do not spread")
    unit = x.max()
    x = x / unit  # the shape does not depend on the unit
    points = 30 + int(np.floor(np.sqrt(size)))
    steps = np.sqrt(points / (np.arange(1.0, points + 1.0) - 0.5))
    b = (steps - 1.0) / (3.0 * star / unit) - 1.0
    b = np.where(np.abs(b) < 1e-14, 0.0, b)
    shapes = np.log1p(b[:, None] * x).mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(b == 0.0, 1.0 / x.mean(), b / shapes)
    objective = size * (np.log(rates) - shapes)
    weights = np.exp(objective - np.logaddexp.reduce(objective))
    best = float(weights @ b)
    k = float(np.log1p(best * x).mean())
    sigma = unit * (k / best if best else x.mean())
    if weak_prior:
        k += (PRIOR_SHAPE - k) * PRIOR_WEIGHT / (size + PRIOR_WEIGHT)
    return float(k), float(sigma)


def gpd_quantile(p: np.ndarray, k: float, sigma: float) -> np.ndarray:
    """Quantiles of the distribution."""
    p = np.asarray(p, dtype=np.float64)
    if np.isnan(p).any() or (p < 0.0).any() or (p > 1.0).any():
        raise ValueError("no probabilities")
    if not sigma > 0.0:
        raise ValueError("sigma must be positive")
    with np.errstate(divide="ignore"):
        survival = np.log1p(-p)
    return np.asarray(np.expm1(-k * survival) / k * sigma if k else -survival * sigma)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
