"""Geometric losses."""

from __future__ import annotations

import numpy as np

from .camera import Camera
from .records import Rendering


def depth_distortion(weights: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """How far apart the samples of each pixel lie."""
    # A gap between neighbours in depth is crossed by every pair with one sample on either side of it.
    order = np.argsort(depths, axis=0)
    places, masses = np.take_along_axis(depths, order, axis=0), np.take_along_axis(weights, order, axis=0)
    before = np.cumsum(masses, axis=0)[:-1]
    behind = np.cumsum(masses[::-1], axis=0)[::-1][1:]
    crossed = before * behind
    with np.errstate(
        invalid="ignore"
    ):  # infinities and NaN are in front of or behind all weights, where nothing is crossed
        spread = np.where(crossed > 0.0, np.diff(places, axis=0) * crossed, 0.0)
    return 2.0 * np.sum(spread, axis=0)


def normal_consistency(rendering: Rendering, depth: np.ndarray, camera: Camera) -> np.ndarray:
    """How much the normals of the splats of each pixel differ from that of the surface."""
    height, width = camera.height, camera.width
    loss = np.zeros((height, width))
    points = (camera.rays(camera.pixels()) * depth[:, None]).reshape(height, width, 3)
    seen = (depth > 0.0).reshape(height, width)
    inner = points[1:-1, 1:-1]
    surface = np.cross(points[1:-1, 2:] - points[1:-1, :-2], points[2:, 1:-1] - points[:-2, 1:-1])
    known = seen[1:-1, 1:-1] & seen[1:-1, 2:] & seen[1:-1, :-2] & seen[2:, 1:-1] & seen[:-2, 1:-1]
    length = np.linalg.norm(surface, axis=2, keepdims=True)
    surface = surface / np.where(known[:, :, None], length, 1.0)
    surface = np.where(np.sum(surface * inner, axis=2, keepdims=True) > 0.0, -surface, surface)
    normal = rendering.normal.reshape(height, width, 3)[1:-1, 1:-1]
    opacity = rendering.opacity.reshape(height, width)[1:-1, 1:-1]
    loss[1:-1, 1:-1] = np.where(known, opacity - np.sum(normal * surface, axis=2), 0.0)
    return loss.ravel()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
