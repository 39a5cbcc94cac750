"""Geometric losses."""

from __future__ import annotations

import numpy as np

from .camera import Camera
from .records import Rendering


def depth_distortion(weights: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """How far apart the samples of each pixel lie."""
    raise NotImplementedError


def normal_consistency(rendering: Rendering, depth: np.ndarray, camera: Camera) -> np.ndarray:
    """How much the normals of the splats of each pixel differ from that of the surface."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
