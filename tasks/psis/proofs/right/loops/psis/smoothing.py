"""Pareto smoothing, number by number."""

from __future__ import annotations

import math

import numpy as np

from .pareto import gpd_fit, gpd_quantile
from .results import Diagnosis, Smoothed
from .settings import LARGEST_THRESHOLD


def tail_length(size, relative_efficiency=1.0):
    """Number of draws in the tail."""
    if size < 1:
        raise ValueError("no draws")
    if relative_efficiency <= 0:
        raise ValueError("the relative efficiency must be positive")
    return int(min(math.ceil(size / 5), math.ceil(3 * math.sqrt(size / relative_efficiency))))


def _normalised(values):
    top = max(values)
    total = top + math.log(math.fsum(math.exp(each - top) for each in values))
    return np.array([each - total for each in values])


def smooth(log_ratios, relative_efficiency=1.0):
    """Normalised log weights with a smoothed tail."""
    values = np.array(log_ratios, dtype=float)
    if values.ndim != 1 or values.size == 0 or np.isnan(values).any() or np.isposinf(values).any():
        raise ValueError("log ratios must be a vector of numbers below infinity")
    size, top = len(values), values.max()
    if np.isneginf(top):
        raise ValueError("all ratios are 0")
    length = tail_length(size, relative_efficiency)
    values = [float(each - top) for each in values]
    ranking = sorted(range(size), key=lambda i: (values[i], i))
    body, tail = ranking[: size - length], ranking[size - length :]
    cutoff = values[body[-1]] if body else 0.0
    exceedances = [
        math.exp(values[i]) * -math.expm1(cutoff - values[i]) if values[i] > cutoff else 0.0 for i in tail
    ]
    try:
        k, sigma = gpd_fit(np.array(exceedances))
    except ValueError:
        return Smoothed(_normalised(values), math.inf, 0)
    for rank, i in enumerate(tail, start=1):
        excess = math.log(gpd_quantile(np.array((rank - 0.5) / length), k, sigma).item())
        high, low = max(cutoff, excess), min(cutoff, excess)
        values[i] = min(0.0, high + math.log1p(math.exp(low - high)))
    return Smoothed(_normalised(values), k, length)


def diagnose(smoothed):
    """How far an estimate with these weights can be trusted."""
    logs = np.asarray(smoothed.log_weights).tolist()
    if len(logs) < 2:
        raise ValueError("at least two log weights")
    threshold = min(LARGEST_THRESHOLD, 1.0 - 1.0 / math.log10(len(logs)))
    k = float(smoothed.k)
    try:
        needed = 10.0 ** (1.0 / (1.0 - max(k, 0.0))) if k < 1.0 else math.inf
    except OverflowError:
        needed = math.inf
    top = max(logs)
    squares = math.fsum(math.exp(2.0 * (each - top)) for each in logs)
    return Diagnosis(threshold, needed, math.exp(-2.0 * top) / squares, k < threshold)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
