"""A pinhole camera."""

from __future__ import annotations

import numpy as np

from .rays import Rays


def camera_rays(height: int, width: int, focal: float, pose: np.ndarray, near: float, far: float) -> Rays:
    """One ray through each pixel, row by row: `height * width` rays.

    pose: `(3, 4)`, rotation and position of the camera in the world. The camera looks along its negative z axis,
    x points right and y up. focal is in pixels.
    """
    row, column = np.mgrid[0:height, 0:width]
    local = np.stack(
        [(column + 0.5 - width / 2) / focal, -(row + 0.5 - height / 2) / focal, -np.ones((height, width))],
        axis=-1,
    ).reshape(-1, 3)
    directions = local @ pose[:, :3].T
    origins = np.broadcast_to(pose[:, 3], directions.shape)
    count = len(directions)
    return Rays(origins, directions, np.full(count, float(near)), np.full(count, float(far)))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
