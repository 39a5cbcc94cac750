"""Smoothed calibration error and reliability diagram (Błasiok and Nakkiran, 2023)."""

from __future__ import annotations

import math

import numpy as np

from .data import checked
from .grid import midpoints
from .numerics import logsumexp
from .results import Curve, SmoothECE
from .settings import HALVINGS, SMALLEST_WIDTH


def log_kernel(points: np.ndarray, centres: np.ndarray, width: float) -> np.ndarray:
    """Logarithm of the reflected Gaussian kernel, (P, C)."""
    points, centres = np.asarray(points, dtype=np.float64), np.asarray(centres, dtype=np.float64)
    for values in (points, centres):
        if values.ndim != 1 or not np.all((values >= 0.0) & (values <= 1.0)):
            raise ValueError(f"points and centres must be vectors in [0, 1], not {values.shape} or outside")
    if not width > 0.0:
        raise ValueError(f"the width must be positive, not {width}")
    # Images that are left out are at least 8 widths away, and the nearest ones at most 1.
    reach = math.ceil(4.0 * width)
    shifts = 2.0 * np.arange(-reach, reach + 1)
    images = np.concatenate([shifts + points[:, None], shifts - points[:, None]], axis=1)
    exponents = -0.5 * ((images[:, None, :] - centres[:, None]) / width) ** 2
    return logsumexp(exponents, axis=2) - np.log(width * np.sqrt(2.0 * np.pi))


def smoothed_error(predictions: np.ndarray, outcomes: np.ndarray, width: float) -> float:
    """The calibration error at a width of the kernel."""
    predictions, outcomes = checked(predictions, outcomes)
    if not width >= SMALLEST_WIDTH:
        raise ValueError(f"the width must be at least {SMALLEST_WIDTH}, not {width}")
    kernel = np.exp(log_kernel(midpoints(), predictions, width))
    return float(np.abs(kernel @ (outcomes - predictions) / len(predictions)).mean())


def smooth_ece(predictions: np.ndarray, outcomes: np.ndarray) -> SmoothECE:
    """The calibration error at the width that equals it."""
    error = smoothed_error(predictions, outcomes, SMALLEST_WIDTH)
    if error <= SMALLEST_WIDTH:
        return SmoothECE(error=error, width=SMALLEST_WIDTH)
    low, high = SMALLEST_WIDTH, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if smoothed_error(predictions, outcomes, middle) > middle:
            low = middle
        else:
            high = middle
    width = 0.5 * (low + high)
    return SmoothECE(error=smoothed_error(predictions, outcomes, width), width=width)


def reliability_curve(
    predictions: np.ndarray, outcomes: np.ndarray, width: float, points: np.ndarray | None = None
) -> Curve:
    """The smoothed reliability diagram."""
    predictions, outcomes = checked(predictions, outcomes)
    points = midpoints() if points is None else np.array(points, dtype=np.float64)
    logs = log_kernel(points, predictions, width)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))  # a ratio of kernels survives where they underflow
    calibration = weights @ outcomes / weights.sum(axis=1)
    return Curve(points=points, calibration=calibration, density=np.exp(logs).mean(axis=1))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
