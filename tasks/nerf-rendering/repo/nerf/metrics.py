"""How well a picture agrees with another one."""

from __future__ import annotations

import numpy as np


def squared_error(picture: np.ndarray, truth: np.ndarray) -> float:
    """Mean over all pixels and colors; both `(height, width, 3)`."""
    if np.shape(picture) != np.shape(truth):
        raise ValueError(f"pictures of the shapes {np.shape(picture)} and {np.shape(truth)} cannot be compared")
    return float(np.mean((np.asarray(picture, dtype=np.float64) - truth) ** 2))


def psnr(picture: np.ndarray, truth: np.ndarray) -> float:
    """Peak signal-to-noise ratio in decibels, for colors in [0, 1]; inf for equal pictures."""
    error = squared_error(picture, truth)
    return float(-10.0 * np.log10(error)) if error > 0.0 else float("inf")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
