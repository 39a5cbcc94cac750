"""The pixels of an image. Pixel (u, v) is column u and row v, and its centre has whole coordinates."""

from __future__ import annotations

import numpy as np

from .camera import Camera


def pixel_grid(camera: Camera) -> np.ndarray:
    """All pixel centres, `(height, width, 2)` float64."""
    u, v = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
    return np.stack([u, v], axis=-1).astype(np.float64)


def inside(camera: Camera, pixels: np.ndarray) -> np.ndarray:
    """Whether each of `(..., 2)` pixels is inside the image; NaN is not."""
    u, v = pixels[..., 0], pixels[..., 1]
    return (u >= -0.5) & (v >= -0.5) & (u < camera.width - 0.5) & (v < camera.height - 0.5)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
