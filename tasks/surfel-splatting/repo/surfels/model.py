"""The scene."""

from dataclasses import dataclass

import numpy as np

from .rotations import rotation_matrices


@dataclass(frozen=True)
class Surfels:
    """N flat Gaussians in world coordinates. Values are converted to float64; N may be 0."""

    positions: np.ndarray  # (N, 3) their centers
    quaternions: np.ndarray  # (N, 4)
    scales: np.ndarray  # (N, 2) standard deviations along both tangents, > 0
    opacities: np.ndarray  # (N,) in [0, 1]
    colors: np.ndarray  # (N, 3)

    def __post_init__(self) -> None:
        shapes = {"positions": (3,), "quaternions": (4,), "scales": (2,), "opacities": (), "colors": (3,)}
        for name, shape in shapes.items():
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.shape != (len(self.positions), *shape):
                raise ValueError(f"{name} must be of shape (N, {', '.join(map(str, shape))}), not {values.shape}")
            object.__setattr__(self, name, values)

    @property
    def tangents(self) -> tuple[np.ndarray, np.ndarray]:
        """The orthonormal tangents of the u axis and of the v axis, (N, 3) each."""
        matrices = rotation_matrices(self.quaternions)
        return matrices[:, :, 0], matrices[:, :, 1]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
