"""Smoothed calibration error and reliability diagram (Błasiok and Nakkiran, 2023)."""

from __future__ import annotations

import math

import numpy as np

from .data import checked
from .grid import midpoints
from .numerics import logsumexp
from .results import Curve, SmoothECE
from .settings import HALVINGS, SMALLEST_WIDTH

WIDE = 0.5  # from this width on, a cosine series needs fewer terms than the sum over images
NARROWEST = 1e-150  # below it, squares overflow, and only the nearest prediction counts


def _interval(values: np.ndarray, name: str) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or not np.all((values >= 0.0) & (values <= 1.0)):
        raise ValueError(f"{name} must have one axis and be in [0, 1]")
    return values


def log_kernel(points: np.ndarray, centres: np.ndarray, width: float) -> np.ndarray:
    """Logarithm of the reflected Gaussian kernel, (P, C)."""
    points, centres = _interval(points, "points"), _interval(centres, "centres")
    if not width > 0.0:
        raise ValueError(f"the width must be positive, not {width}")
    width = float(width)
    if width >= WIDE:
        excess = np.zeros((len(points), len(centres)))
        for order in range(1, 9):
            angle = math.pi * order
            damping = 2.0 * math.exp(-0.5 * (angle * width) ** 2)
            excess += damping * np.cos(angle * points)[:, None] * np.cos(angle * centres)
        return np.log1p(excess)

    direct = points[:, None] - centres
    low = points[:, None] + centres  # way from one to the other by the reflection at 0
    high = (1.0 - points)[:, None] + (1.0 - centres)  # and at 1
    ways = [direct, low, high]
    for shift in (2.0, 4.0, 6.0):
        ways += [direct + shift, direct - shift, low + shift, high + shift]
    total = np.full(direct.shape, -np.inf)
    for way in ways:
        ratio = np.minimum(np.abs(way) / width, 1e150)
        total = np.logaddexp(total, -0.5 * ratio * ratio)
    return total - math.log(width) - 0.5 * math.log(2.0 * math.pi)


def smoothed_error(predictions: np.ndarray, outcomes: np.ndarray, width: float) -> float:
    """The calibration error at a width of the kernel."""
    predictions, outcomes = checked(predictions, outcomes)
    if not width >= SMALLEST_WIDTH:
        raise ValueError(f"the width must be at least {SMALLEST_WIDTH}, not {width}")
    kernel = np.exp(log_kernel(midpoints(), predictions, width))
    return float(np.mean(np.abs(kernel @ (outcomes - predictions) / len(predictions))))


def smooth_ece(predictions: np.ndarray, outcomes: np.ndarray) -> SmoothECE:
    """The calibration error at the width that equals it."""
    error = smoothed_error(predictions, outcomes, SMALLEST_WIDTH)
    if error <= SMALLEST_WIDTH:
        return SmoothECE(error, SMALLEST_WIDTH)
    lower, upper = SMALLEST_WIDTH, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (lower + upper)
        if smoothed_error(predictions, outcomes, middle) > middle:
            lower = middle
        else:
            upper = middle
    width = 0.5 * (lower + upper)
    return SmoothECE(smoothed_error(predictions, outcomes, width), width)


def reliability_curve(
    predictions: np.ndarray, outcomes: np.ndarray, width: float, points: np.ndarray | None = None
) -> Curve:
    """The smoothed reliability diagram."""
    predictions, outcomes = checked(predictions, outcomes)
    points = midpoints() if points is None else np.array(points, dtype=np.float64)
    logs = log_kernel(points, predictions, width)
    density = np.exp(logsumexp(logs, axis=1)) / len(predictions)
    if width < NARROWEST:
        logs = log_kernel(points, predictions, NARROWEST)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return Curve(points, shares @ outcomes / shares.sum(axis=1), density)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
