"""SmoothECE, image by image."""

from __future__ import annotations

import numpy as np

from .data import checked
from .grid import midpoints
from .results import Curve, SmoothECE
from .settings import HALVINGS, SMALLEST_WIDTH


def log_kernel(points, centres, width):
    """Logarithm of the reflected Gaussian kernel."""
    points, centres = np.array(points, dtype=float), np.array(centres, dtype=float)
    if points.ndim != 1 or centres.ndim != 1:
        raise ValueError("points and centres must have one axis")
    if np.isnan(points).any() or np.isnan(centres).any() or not width > 0:
        raise ValueError("no numbers, or no width")
    for values in (points, centres):
        if ((values < 0.0) | (values > 1.0)).any():
            raise ValueError("outside of the unit interval")
    straight, reflected = points[:, None] - centres, points[:, None] + centres
    total = np.logaddexp(-0.5 * (straight / width) ** 2, -0.5 * (reflected / width) ** 2)
    m = 0
    while m <= 1.0 + 5.0 * width:
        m += 1
        for distance in (straight, reflected):
            for shift in (2.0 * m, -2.0 * m):
                total = np.logaddexp(total, -0.5 * ((distance + shift) / width) ** 2)
    return total - np.log(width) - 0.5 * np.log(2.0 * np.pi)


def smoothed_error(predictions, outcomes, width):
    """The calibration error at a width."""
    predictions, outcomes = checked(predictions, outcomes)
    if width < SMALLEST_WIDTH:
        raise ValueError("the grid is too coarse")
    total = np.zeros(len(midpoints()))
    for column, residual in zip(
        np.exp(log_kernel(midpoints(), predictions, width)).T, outcomes - predictions, strict=True
    ):
        total += column * residual
    return float(np.abs(total).sum() / len(total) / len(predictions))


def smooth_ece(predictions, outcomes):
    """The calibration error at its own width."""
    def excess(width):
        return smoothed_error(predictions, outcomes, width) - width

    low, length = SMALLEST_WIDTH, 1.0 - SMALLEST_WIDTH
    if excess(low) <= 0.0:
        return SmoothECE(smoothed_error(predictions, outcomes, low), low)
    for _ in range(HALVINGS):
        length /= 2.0
        if excess(low + length) > 0.0:
            low += length
    width = float(low + length / 2.0)
    return SmoothECE(smoothed_error(predictions, outcomes, width), width)


def reliability_curve(predictions, outcomes, width, points=None):
    """The smoothed reliability diagram."""
    predictions, outcomes = checked(predictions, outcomes)
    points = midpoints() if points is None else np.array(points, dtype=float)
    rows = log_kernel(points, predictions, width)
    calibration, density = [], []
    for row in rows:
        weights = np.exp(row - max(row))
        calibration.append(np.average(outcomes, weights=weights))
        density.append(np.mean(np.exp(row)))
    return Curve(points, np.array(calibration, dtype=float), np.array(density, dtype=float))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
