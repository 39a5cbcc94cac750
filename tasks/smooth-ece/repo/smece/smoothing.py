"""Smoothed calibration error and reliability diagram (Błasiok and Nakkiran, 2023)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .data import checked
from .grid import midpoints
from .numerics import logsumexp
from .results import Curve, SmoothECE
from .settings import HALVINGS, SMALLEST_WIDTH


def log_kernel(points: np.ndarray, centres: np.ndarray, width: float) -> np.ndarray:
    """Logarithm of the reflected Gaussian kernel, (P, C)."""
    raise NotImplementedError


def smoothed_error(predictions: np.ndarray, outcomes: np.ndarray, width: float) -> float:
    """The calibration error at a width of the kernel."""
    raise NotImplementedError


def smooth_ece(predictions: np.ndarray, outcomes: np.ndarray) -> SmoothECE:
    """The calibration error at the width that equals it."""
    raise NotImplementedError


def reliability_curve(
    predictions: np.ndarray, outcomes: np.ndarray, width: float, points: np.ndarray | None = None
) -> Curve:
    """The smoothed reliability diagram."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
