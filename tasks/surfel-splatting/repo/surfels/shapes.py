"""Scenes to try the renderer on."""

import numpy as np

from .model import Surfels


def plane(point: np.ndarray, quaternion: np.ndarray, extent: float, count: int, scale: float) -> Surfels:
    """`count` x `count` round surfels in one plane through `point`, spread over a square of side 2 * `extent`."""
    one = Surfels(point[None], quaternion[None], np.ones((1, 2)), np.ones(1), np.ones((1, 3)))
    (u_axis,), (v_axis,) = one.tangents
    steps = np.linspace(-extent, extent, count)
    u, v = (values.ravel() for values in np.meshgrid(steps, steps))
    total = count * count
    shade = 0.5 + 0.5 * np.stack([u, v, -u], axis=1) / extent
    positions = point + u[:, None] * u_axis + v[:, None] * v_axis
    return Surfels(positions, np.tile(quaternion, (total, 1)), np.full((total, 2), scale), np.full(total, 0.8), shade)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
