"""The pinhole camera: x to the right, y down, z forward."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Camera:
    """A point p of the world is at `rotation @ p + translation` for the camera."""

    rotation: np.ndarray  # (3, 3)
    translation: np.ndarray  # (3,)
    focal: tuple[float, float]  # in pixels, along x and y; they may differ
    principal: tuple[float, float]  # pixel coordinates of the optical axis
    width: int
    height: int
    near: float = 0.2  # nothing with a smaller depth (z of the camera) is seen

    @property
    def intrinsics(self) -> np.ndarray:
        """The matrix that takes a point of the camera to (x z, y z, z) for its pixel coordinates (x, y)."""
        (fx, fy), (cx, cy) = self.focal, self.principal
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])

    def to_camera(self, points: np.ndarray) -> np.ndarray:
        """Points (N, 3) of the world in coordinates of the camera."""
        return points @ np.asarray(self.rotation, dtype=np.float64).T + np.asarray(self.translation, dtype=np.float64)

    def pixels(self) -> np.ndarray:
        """The centers of all pixels, (height * width, 2), row by row; the first one is (0.5, 0.5)."""
        x, y = np.meshgrid(np.arange(self.width) + 0.5, np.arange(self.height) + 0.5)
        return np.stack([x.ravel(), y.ravel()], axis=1)

    def rays(self, pixels: np.ndarray) -> np.ndarray:
        """Points of the camera with depth 1 that are seen at `pixels` (P, 2): (P, 3). They are not of unit length."""
        plane = (pixels - np.array(self.principal)) / np.array(self.focal)
        return np.concatenate([plane, np.ones((len(pixels), 1))], axis=1)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
