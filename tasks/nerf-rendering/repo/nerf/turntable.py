"""The driver for many views: a field as cameras on an orbit see it, and how close another field comes to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cameras import camera_rays
from .fields import Field
from .image import render_image
from .metrics import psnr
from .poses import orbit
from .settings import RenderConfig


@dataclass(frozen=True)
class Turntable:
    """Cameras around the origin: `count` of them, their circle, and their pictures (`focal` is in pixels).

    near and far: the depths between which the cameras look.
    """

    count: int
    radius: float
    height: float
    shape: tuple[int, int]
    focal: float
    near: float
    far: float


def film(coarse: Field, fine: Field | None, table: Turntable, config: RenderConfig) -> np.ndarray:
    """`(count, height, width, 3)` pictures, one from each camera."""
    frames = [
        render_image(
            coarse, fine, camera_rays(*table.shape, table.focal, pose, table.near, table.far), table.shape, config
        )
        for pose in orbit(table.count, table.radius, table.height)
    ]
    return np.array(frames).reshape(table.count, *table.shape, 3)


def agreement(field: Field, truth: Field, table: Turntable, config: RenderConfig) -> list[float]:
    """The PSNR of each view of `field` against the same view of `truth`."""
    views = zip(film(field, None, table, config), film(truth, None, table, config), strict=True)
    return [psnr(picture, expected) for picture, expected in views]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
