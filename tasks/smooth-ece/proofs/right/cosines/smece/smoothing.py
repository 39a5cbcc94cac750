"""SmoothECE with the cosine series of the kernel, which converges fast where the sum over images does not."""

from __future__ import annotations

import numpy as np

from .data import checked
from .grid import midpoints
from .numerics import logsumexp
from .results import Curve, SmoothECE
from .settings import HALVINGS, SMALLEST_WIDTH


def _cosines(values: np.ndarray, count: int) -> np.ndarray:
    return np.cos(np.pi * np.multiply.outer(values, np.arange(1, count + 1)))


def _damping(width: float) -> np.ndarray:
    count = int(np.ceil(9.0 / (np.pi * width))) + 1
    return 2.0 * np.exp(-0.5 * (np.pi * width * np.arange(1, count + 1)) ** 2)


def log_kernel(points: np.ndarray, centres: np.ndarray, width: float) -> np.ndarray:
    """Logarithm of the reflected Gaussian kernel."""
    vectors = []
    for values in (points, centres):
        values = np.asarray(values, dtype=np.float64)
        if values.ndim != 1 or not np.logical_and(values >= 0.0, values <= 1.0).all():
            raise ValueError("points and centres must be vectors in [0, 1]")
        vectors.append(values)
    if not width > 0.0:
        raise ValueError("the width must be positive")
    if width > 0.6:
        factors = _damping(width)
        return np.log1p((_cosines(vectors[0], len(factors)) * factors) @ _cosines(vectors[1], len(factors)).T)
    images = np.stack([shift + sign * vectors[0] for shift in range(-8, 9, 2) for sign in (1.0, -1.0)])
    distances = (images[:, :, None] - vectors[1]) / width
    return logsumexp(-(distances**2) / 2.0, axis=0) - np.log(np.sqrt(2.0 * np.pi) * width)


def smoothed_error(predictions: np.ndarray, outcomes: np.ndarray, width: float) -> float:
    """The calibration error at a width."""
    predictions, outcomes = checked(predictions, outcomes)
    if not width >= SMALLEST_WIDTH:
        raise ValueError("the width is too small for the grid")
    residuals, factors = (outcomes - predictions) / len(predictions), _damping(width)
    amplitudes = factors * (residuals @ _cosines(predictions, len(factors)))
    smooth = residuals.sum() + _cosines(midpoints(), len(factors)) @ amplitudes
    return np.mean(np.abs(smooth)).item()


def smooth_ece(predictions: np.ndarray, outcomes: np.ndarray) -> SmoothECE:
    """The calibration error at its own width."""
    ends = [SMALLEST_WIDTH, 1.0]
    if smoothed_error(predictions, outcomes, ends[0]) <= ends[0]:
        ends[1] = ends[0]
    else:
        for _ in range(HALVINGS):
            middle = sum(ends) / 2.0
            ends[0 if smoothed_error(predictions, outcomes, middle) > middle else 1] = middle
    width = sum(ends) / 2.0
    return SmoothECE(error=smoothed_error(predictions, outcomes, width), width=width)


def reliability_curve(
    predictions: np.ndarray, outcomes: np.ndarray, width: float, points: np.ndarray | None = None
) -> Curve:
    """The smoothed reliability diagram."""
    predictions, outcomes = checked(predictions, outcomes)
    points = np.array(midpoints() if points is None else points, dtype=np.float64)
    logs = log_kernel(points, predictions, width)
    total = logsumexp(logs, axis=1)
    shares = np.exp(logs - total[:, None])
    return Curve(points, shares @ outcomes, np.exp(total - np.log(len(predictions))))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
