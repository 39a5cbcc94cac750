"""Between the image plane at distance 1 and pixels."""

from __future__ import annotations

import numpy as np

from .camera import Camera


def to_pixels(camera: Camera, plane: np.ndarray) -> np.ndarray:
    """Pixels (u, v) of coordinates in the image plane, `(..., 2)`."""
    return plane * np.array([camera.fx, camera.fy]) + np.array([camera.cx, camera.cy])


def from_pixels(camera: Camera, pixels: np.ndarray) -> np.ndarray:
    """Coordinates in the image plane of pixels (u, v), `(..., 2)`."""
    return (pixels - np.array([camera.cx, camera.cy])) / np.array([camera.fx, camera.fy])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
