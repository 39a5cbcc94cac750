"""Shapes of Gaussians."""

from __future__ import annotations

import numpy as np

from .scene import Scene


def rotations(quaternions: np.ndarray) -> np.ndarray:
    """Rotation matrices `(N, 3, 3)` of quaternions `(N, 4)` of any positive length."""
    w, x, y, z = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def covariances(scene: Scene) -> np.ndarray:
    """Covariance matrices `(N, 3, 3)`."""
    axes = rotations(scene.quaternions) * np.exp(scene.log_scales)[:, None, :]
    return axes @ np.swapaxes(axes, 1, 2)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
