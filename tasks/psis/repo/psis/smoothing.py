"""Pareto smoothing of importance weights (Vehtari et al., JMLR 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .numerics import logsumexp
from .pareto import gpd_fit, gpd_quantile
from .results import Diagnosis, Smoothed
from .settings import LARGEST_THRESHOLD


def tail_length(size: int, relative_efficiency: float = 1.0) -> int:
    """Number of draws in the tail."""
    raise NotImplementedError


def smooth(log_ratios: np.ndarray, relative_efficiency: float = 1.0) -> Smoothed:
    """Normalised log weights with a smoothed tail."""
    raise NotImplementedError


def diagnose(smoothed: Smoothed) -> Diagnosis:
    """How far an estimate with these weights can be trusted."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
