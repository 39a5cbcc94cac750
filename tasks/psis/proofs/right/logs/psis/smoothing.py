"""Pareto smoothing with logarithms of the exceedances."""

from __future__ import annotations

import math

import numpy as np

from .pareto import gpd_fit, gpd_quantile
from .results import Diagnosis, Smoothed
from .settings import LARGEST_THRESHOLD


def tail_length(size: int, relative_efficiency: float = 1.0) -> int:
    """Number of draws in the tail."""
    if size < 1 or relative_efficiency <= 0.0:
        raise ValueError("there must be draws, with a positive relative efficiency")
    return int(np.ceil(np.minimum(0.2 * size, 3.0 * np.sqrt(size / relative_efficiency))))


def smooth(log_ratios: np.ndarray, relative_efficiency: float = 1.0) -> Smoothed:
    """Normalised log weights with a smoothed tail."""
    given = np.array(log_ratios, dtype=np.float64)
    if given.ndim != 1 or given.size == 0 or not given.max() < np.inf or given.max() == -np.inf:
        raise ValueError("log ratios must be a vector with a finite maximum")
    given -= given.max()
    length = tail_length(given.size, relative_efficiency)
    ranking = np.lexsort((np.arange(given.size), given))[::-1]
    tail = ranking[:length][::-1]
    k, done = math.inf, 0
    if given.size > length:
        cutoff = given[ranking[length]]
        larger = given[tail] > cutoff
        excess = np.full(length, -np.inf)
        excess[larger] = given[tail][larger] + np.log(-np.expm1(cutoff - given[tail][larger]))
        try:
            k, sigma = gpd_fit(np.exp(excess))
        except ValueError:
            pass
        else:
            done = length
            fitted = np.log(gpd_quantile((np.arange(1, length + 1) - 0.5) / length, k, sigma))
            given[tail] = np.clip(np.logaddexp(fitted, cutoff), None, 0.0)
    return Smoothed(given - np.log(np.exp(given).sum()), k, done)


def diagnose(smoothed: Smoothed) -> Diagnosis:
    """How far an estimate with these weights can be trusted."""
    size = len(smoothed.log_weights)
    if size < 2:
        raise ValueError("at least two draws")
    threshold = float(min(LARGEST_THRESHOLD, 1.0 - np.log(10.0) / np.log(size)))
    k = float(smoothed.k)
    with np.errstate(over="ignore", divide="ignore"):
        needed = np.exp(np.log(10.0) / (1.0 - max(k, 0.0))) if k < 1.0 else np.inf
    effective = np.exp(-np.logaddexp.reduce(2.0 * np.asarray(smoothed.log_weights)))
    return Diagnosis(threshold, float(needed), float(effective), k < threshold)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
