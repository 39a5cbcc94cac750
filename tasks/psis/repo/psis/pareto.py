"""The generalized Pareto distribution of exceedances."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .settings import MIN_TAIL, PRIOR_SHAPE, PRIOR_WEIGHT


def gpd_fit(x: np.ndarray, *, weak_prior: bool = True) -> tuple[float, float]:
    """Shape k and scale sigma of the exceedances `x`."""
    raise NotImplementedError


def gpd_quantile(p: np.ndarray, k: float, sigma: float) -> np.ndarray:
    """Quantiles of the generalized Pareto distribution."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
