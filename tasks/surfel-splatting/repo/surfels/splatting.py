"""Splats on the image plane."""

from __future__ import annotations

import numpy as np

from .camera import Camera
from .model import Surfels
from .records import Samples, Splats
from .settings import RenderConfig


def project(surfels: Surfels, camera: Camera) -> Splats:
    """The surfels that `camera` sees, front to back."""
    raise NotImplementedError


def sample(splats: Splats, pixels: np.ndarray, camera: Camera, config: RenderConfig) -> Samples:
    """Alpha and depth of every splat at every pixel."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
