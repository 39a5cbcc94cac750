"""Compositing, front to back."""

from .records import Rendering, Samples, Splats
from .settings import RenderConfig


def composite(samples: Samples, splats: Splats, config: RenderConfig) -> Rendering:
    """Blend the samples of each pixel in the order of `splats`."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
