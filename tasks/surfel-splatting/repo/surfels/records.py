"""What the stages of the renderer hand on. K splats, P pixels; either may be 0. All numbers but `index` are float64."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Splats:
    """Surfels as a camera sees them, in the order in which they are composited."""

    index: np.ndarray  # (K,) int64: which surfels they are
    matrices: np.ndarray  # (K, 3, 3): from (u, v, 1) to (x z, y z, z)
    centers: np.ndarray  # (K, 2) pixel coordinates
    depths: np.ndarray  # (K,) of the centers
    normals: np.ndarray  # (K, 3) unit vectors in coordinates of the camera
    opacities: np.ndarray  # (K,)
    colors: np.ndarray  # (K, 3)


@dataclass(frozen=True)
class Samples:
    """What each splat contributes to each pixel."""

    alphas: np.ndarray  # (K, P)
    depths: np.ndarray  # (K, P), 0 where alpha is 0


@dataclass(frozen=True)
class Rendering:
    """The composited pixels."""

    color: np.ndarray  # (P, 3)
    opacity: np.ndarray  # (P,)
    transmittance: np.ndarray  # (P,) what is left of the light of the background
    mean_depth: np.ndarray  # (P,)
    median_depth: np.ndarray  # (P,)
    normal: np.ndarray  # (P, 3)
    weights: np.ndarray  # (K, P)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
