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
    if size < 1 or not relative_efficiency > 0.0:
        raise ValueError(f"{size} draws with relative efficiency {relative_efficiency} have no tail")
    return math.ceil(min(size / 5, 3.0 * math.sqrt(size / relative_efficiency)))


def smooth(log_ratios: np.ndarray, relative_efficiency: float = 1.0) -> Smoothed:
    """Normalised log weights with a smoothed tail."""
    logs = np.asarray(log_ratios, dtype=np.float64)
    if logs.ndim != 1 or len(logs) == 0 or not np.isfinite(logs.max()):
        raise ValueError("log ratios must be a vector with at least one finite element, without NaN and +inf")
    length = tail_length(len(logs), relative_efficiency)
    logs = logs - logs.max()
    order = np.argsort(logs, kind="stable")
    tail, cutoff = order[-length:], logs[order[-length - 1]] if length < len(logs) else -np.inf
    above = logs[tail] > cutoff
    # exp(a) - exp(b) without cancellation; both may be -inf.
    gaps = np.where(above, cutoff - np.where(above, logs[tail], 0.0), 0.0)
    try:
        k, sigma = gpd_fit(np.exp(logs[tail]) * np.abs(np.expm1(gaps)))
    except ValueError:
        return Smoothed(log_weights=logs - logsumexp(logs), k=math.inf, tail=0)
    quantiles = gpd_quantile((np.arange(length) + 0.5) / length, k, sigma)
    logs[tail] = np.minimum(np.logaddexp(cutoff, np.log(quantiles)), 0.0)
    return Smoothed(log_weights=logs - logsumexp(logs), k=k, tail=length)


def diagnose(smoothed: Smoothed) -> Diagnosis:
    """How far an estimate with these weights can be trusted."""
    logs, k = np.asarray(smoothed.log_weights, dtype=np.float64), smoothed.k
    if len(logs) < 2:
        raise ValueError("a diagnosis needs at least two log weights")
    threshold = min(1.0 - 1.0 / math.log10(len(logs)), LARGEST_THRESHOLD)
    power = math.inf if k >= 1.0 else 1.0 / (1.0 - max(0.0, k))
    with np.errstate(over="ignore"):
        size = float(np.power(10.0, power))
    return Diagnosis(
        threshold=threshold,
        min_sample_size=size,
        effective_sample_size=math.exp(-logsumexp(2.0 * logs)),
        reliable=k < threshold,
    )


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
