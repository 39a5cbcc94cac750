"""The driver: where each pixel of an undistorted image comes from."""

from __future__ import annotations

import numpy as np

from .camera import Camera
from .double_sphere import jacobian, project, unproject
from .image import inside, pixel_grid


def lookup(fisheye: Camera, wanted: Camera, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pixels `(height, width, 2)` of `fisheye` that the camera `wanted` sees, and where they exist.

    rotation: `(3, 3)`, from the frame of `wanted` to that of `fisheye`.
    """
    rays, seen = unproject(wanted, pixel_grid(wanted))
    pixels, valid = project(fisheye, rays @ rotation.T)
    return pixels, seen & valid & inside(fisheye, pixels)


def field_of_view(camera: Camera) -> np.ndarray:
    """The angle in degrees between the optical axis and each pixel, `(height, width)`; NaN where there is none."""
    rays, _ = unproject(camera, pixel_grid(camera))
    return np.degrees(np.arctan2(np.hypot(rays[..., 0], rays[..., 1]), rays[..., 2]))


def pixel_covariance(camera: Camera, points: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Covariance `(..., 2, 2)` of pixels of points `(..., 3)` with the covariance `(..., 3, 3)`, to first order."""
    slopes, _ = jacobian(camera, points)
    return slopes @ covariance @ np.swapaxes(slopes, -1, -2)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
