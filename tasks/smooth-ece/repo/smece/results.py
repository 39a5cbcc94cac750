"""What the smoothing returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SmoothECE:
    """The smoothed calibration error.

    error: the error at `width`, float.
    width: of the kernel, float.
    """

    error: float
    width: float


@dataclass(frozen=True, eq=False)
class Curve:
    """The smoothed reliability diagram at P points.

    points: (P,) float64.
    calibration: (P,) float64, the regression of the outcomes.
    density: (P,) float64, of the predictions.
    """

    points: np.ndarray
    calibration: np.ndarray
    density: np.ndarray


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
