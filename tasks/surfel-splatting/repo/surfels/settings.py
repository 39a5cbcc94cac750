"""Settings of the renderer."""

from dataclasses import dataclass

EDGE_ON = 1e-6
"""A ray whose angle with the plane of a splat has at most this sine does not meet it."""


@dataclass(frozen=True)
class RenderConfig:
    """What `sample` and `composite` need to know."""

    filter_width: float = 0.5**0.5  # standard deviation of the low-pass filter, in pixels
    min_alpha: float = 1.0 / 255.0
    max_alpha: float = 0.99
    min_transmittance: float = 1e-4
    background: tuple[float, float, float] = (0.0, 0.0, 0.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
