"""The driver: a picture of a field as a camera sees it."""

from __future__ import annotations

import numpy as np

from .fields import Field
from .rays import Rays
from .render import render_rays
from .settings import RenderConfig


def render_image(
    coarse: Field,
    fine: Field | None,
    rays: Rays,
    shape: tuple[int, int],
    config: RenderConfig,
    seed: int | None = None,
) -> np.ndarray:
    """`(height, width, 3)` picture. With a seed the samples are jittered, otherwise they lie regularly."""
    jitter = uniforms = None
    if seed is not None:
        generator = np.random.default_rng(seed)
        jitter = generator.uniform(size=(rays.count, config.coarse))
        uniforms = generator.uniform(size=(rays.count, config.fine))
    first, second = render_rays(coarse, fine, rays, config, jitter=jitter, uniforms=uniforms)
    final = first if second is None else second
    return final.color.reshape(*shape, 3)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
