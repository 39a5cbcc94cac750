"""Pareto smoothing of importance weights (Vehtari et al., JMLR 2024)."""

from __future__ import annotations

import math

import numpy as np

from .numerics import logsumexp
from .pareto import gpd_fit, gpd_quantile
from .results import Diagnosis, Smoothed
from .settings import LARGEST_THRESHOLD


def tail_length(size: int, relative_efficiency: float = 1.0) -> int:
    """Number of draws in the tail."""
    if size < 1:
        raise ValueError(f"there must be at least one draw, not {size}")
    if not relative_efficiency > 0.0:
        raise ValueError(f"the relative efficiency must be positive, not {relative_efficiency}")
    return math.ceil(min(size / 5, 3.0 * math.sqrt(size / relative_efficiency)))


def smooth(log_ratios: np.ndarray, relative_efficiency: float = 1.0) -> Smoothed:
    """Normalised log weights with a smoothed tail."""
    log_ratios = np.asarray(log_ratios, dtype=np.float64)
    if log_ratios.ndim != 1 or log_ratios.size == 0:
        raise ValueError(f"log ratios must be (S,) with S >= 1, not {log_ratios.shape}")
    if not np.all(log_ratios < np.inf):
        raise ValueError("a log ratio is NaN or infinite")
    largest = log_ratios.max()
    if largest == -np.inf:
        raise ValueError("all ratios are 0")
    size = len(log_ratios)
    count = tail_length(size, relative_efficiency)
    order = np.argsort(log_ratios, kind="stable")
    tail = order[size - count :]
    cutoff = log_ratios[order[size - count - 1]] if count < size else -np.inf
    values = log_ratios - largest  # in units of the largest ratio

    above = log_ratios[tail]
    gaps = np.zeros(count)  # cutoff minus log ratio
    finite = above > -np.inf
    gaps[finite] = cutoff - above[finite]
    exceedances = np.exp(values[tail]) * -np.expm1(gaps)
    try:
        k, sigma = gpd_fit(exceedances)
    except ValueError:
        return Smoothed(values - logsumexp(values), math.inf, 0)
    quantiles = gpd_quantile((np.arange(count) + 0.5) / count, k, sigma)
    values[tail] = np.minimum(np.logaddexp(cutoff - largest, np.log(quantiles)), 0.0)
    return Smoothed(values - logsumexp(values), k, count)


def diagnose(smoothed: Smoothed) -> Diagnosis:
    """How far an estimate with these weights can be trusted."""
    log_weights, k = np.asarray(smoothed.log_weights, dtype=np.float64), float(smoothed.k)
    size = len(log_weights)
    if size < 2:
        raise ValueError(f"a diagnosis needs at least two weights, not {size}")
    threshold = min(1.0 - 1.0 / math.log10(size), LARGEST_THRESHOLD)
    needed = math.inf
    if k < 1.0:
        try:
            needed = math.pow(10.0, 1.0 / (1.0 - max(0.0, k)))
        except OverflowError:
            pass
    return Diagnosis(threshold, needed, math.exp(-logsumexp(2.0 * log_weights)), k < threshold)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
