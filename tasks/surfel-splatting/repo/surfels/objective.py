"""What is minimised when a scene is fitted to pictures."""

import numpy as np

from .camera import Camera
from .losses import depth_distortion, normal_consistency
from .model import Surfels
from .render import render


def objective(
    surfels: Surfels, camera: Camera, picture: np.ndarray, distortion: float = 100.0, consistency: float = 0.05
) -> float:
    """Mean absolute error of the colors plus both geometric losses, weighted; `picture` is (height * width, 3)."""
    rendering, samples = render(surfels, camera)
    color = np.abs(rendering.color - picture).mean()
    spread = depth_distortion(rendering.weights, samples.depths).mean()
    bend = normal_consistency(rendering, rendering.median_depth, camera).mean()
    return float(color + distortion * spread + consistency * bend)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
