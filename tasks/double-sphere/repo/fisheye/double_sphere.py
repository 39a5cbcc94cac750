"""The Double Sphere camera model: projection, its derivative, and its inverse."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .blank import blank
from .camera import Camera
from .plane import from_pixels, to_pixels


def project(camera: Camera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels `(..., 2)` of points `(..., 3)`, and where they are valid."""
    raise NotImplementedError


def jacobian(camera: Camera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives `(..., 2, 3)` of pixels by points, and where they are valid."""
    raise NotImplementedError


def unproject(camera: Camera, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit rays `(..., 3)` of pixels `(..., 2)`, and where they are valid."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
