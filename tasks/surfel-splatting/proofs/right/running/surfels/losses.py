"""Losses with running sums and slices."""

from __future__ import annotations

import numpy as np

from .camera import Camera
from .records import Rendering


def depth_distortion(weights: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """Walk through the sorted samples; the walk carries the mass behind it and that mass times its distance."""
    count, pixels = weights.shape
    place = np.where(weights > 0.0, depths, np.inf)
    order = np.argsort(place, axis=0, kind="stable")
    total, mass, moment, last = np.zeros(pixels), np.zeros(pixels), np.zeros(pixels), np.zeros(pixels)
    columns = np.arange(pixels)
    for row in order:
        weight, here = weights[row, columns], place[row, columns]
        used = weight > 0.0
        step = np.where(used & (mass > 0.0), here - last, 0.0)
        moment = moment + mass * step
        total = total + np.where(used, weight * moment, 0.0)
        mass = mass + weight
        last = np.where(used, here, last)
    return total + total


def normal_consistency(rendering: Rendering, depth: np.ndarray, camera: Camera) -> np.ndarray:
    """Slices of arrays that are padded with unknown depths, so that the border needs no care."""
    shape = (camera.height, camera.width)
    z = np.pad(depth.reshape(shape), 1)
    points = np.pad((depth[:, None] * camera.rays(camera.pixels())).reshape(*shape, 3), ((1, 1), (1, 1), (0, 0)))
    middle, before, after = slice(1, -1), slice(None, -2), slice(2, None)
    around = [(middle, middle), (middle, before), (middle, after), (before, middle), (after, middle)]
    known = np.all([z[where] > 0.0 for where in around], axis=0)
    here, left, right, above, below = (points[where] for where in around)
    normal = np.cross(right - left, below - above)
    length = np.sqrt(np.sum(normal**2, axis=-1))
    side = np.where(np.sum(normal * here, axis=-1) > 0.0, -1.0, 1.0)
    shared = np.sum(normal * rendering.normal.reshape(*shape, 3), axis=-1) * side
    cosine = np.divide(shared, length, out=np.zeros(shape), where=known)
    return np.where(known, rendering.opacity.reshape(shape) - cosine, 0.0).ravel()

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
