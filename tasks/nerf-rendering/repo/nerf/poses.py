"""Where cameras stand and where they look."""

from __future__ import annotations

import numpy as np


def look_at(position: np.ndarray, target: np.ndarray, up: np.ndarray) -> np.ndarray:
    """`(3, 4)` pose of a camera at `position` that sees `target` in the middle of its picture; all `(3,)`.

    The columns are the camera's x (right), y (up) and z (away from the target) in the world, and its position, as
    `camera_rays` takes them. `up` must not be parallel to the line of sight.
    """
    position = np.asarray(position, dtype=np.float64)
    backward = position - np.asarray(target, dtype=np.float64)
    right = np.cross(np.asarray(up, dtype=np.float64), backward)
    upward = np.cross(backward, right)
    axes = np.stack([right, upward, backward], axis=1)
    return np.column_stack([axes / np.linalg.norm(axes, axis=0), position])


def orbit(count: int, radius: float, height: float) -> np.ndarray:
    """`(count, 3, 4)` poses, evenly spread over a circle around the y axis, that look at the origin."""
    angles = 2.0 * np.pi * np.arange(count) / count
    positions = np.stack([radius * np.sin(angles), np.full(count, height), radius * np.cos(angles)], axis=1)
    up, origin = np.array([0.0, 1.0, 0.0]), np.zeros(3)
    return np.array([look_at(position, origin, up) for position in positions]).reshape(count, 3, 4)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
