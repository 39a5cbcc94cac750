"""The driver: all numbers of a diagram."""

from __future__ import annotations

import numpy as np

from .binned import binned_error
from .smoothing import reliability_curve, smooth_ece


def report(predictions: np.ndarray, outcomes: np.ndarray) -> dict[str, object]:
    """The smoothed and the binned error, and the curve at the width of the former."""
    found = smooth_ece(predictions, outcomes)
    curve = reliability_curve(predictions, outcomes, found.width)
    return {
        "error": found.error,
        "width": found.width,
        "binned error": binned_error(predictions, outcomes),
        "points": curve.points,
        "calibration": curve.calibration,
        "density": curve.density,
        "distance": float(np.mean(np.abs(curve.calibration - curve.points) * curve.density)),
    }


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
