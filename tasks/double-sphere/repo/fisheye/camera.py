"""The parameters of a camera."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Camera:
    """A camera of the Double Sphere model.

    fx, fy: focal lengths in pixels, positive.
    cx, cy: the principal point, in pixels.
    xi: shift of the second sphere, -1 < xi < 1.
    alpha: position of the last centre, 0 <= alpha <= 1.
    width, height: size of the image in pixels.
    """

    fx: float
    fy: float
    cx: float
    cy: float
    xi: float = 0.0
    alpha: float = 0.0
    width: int = 640
    height: int = 480

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.fx, self.fy, self.cx, self.cy))) or min(self.fx, self.fy) <= 0.0:
            raise ValueError("focal lengths must be positive, and the principal point finite")
        if not -1.0 < self.xi < 1.0:
            raise ValueError(f"xi must be between -1 and 1, not {self.xi}")
        if not 0.0 <= self.alpha <= 1.0:
            raise ValueError(f"alpha must be from 0 to 1, not {self.alpha}")
        if min(self.width, self.height) < 1:
            raise ValueError(f"an image of {self.width} x {self.height} has no pixels")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
