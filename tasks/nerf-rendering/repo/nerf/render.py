"""From samples to what a ray sees (Mildenhall et al. 2020, sections 4 and 5.2)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .fields import Field
from .rays import Rays
from .sampling import resample, stratified
from .settings import RenderConfig, Rendering

LAST_INTERVAL = 1e10
"""Length of the interval behind the last sample, in depth: practically infinite."""


def composite(
    densities: np.ndarray,
    colors: np.ndarray,
    depths: np.ndarray,
    directions: np.ndarray,
    background: tuple[float, float, float] | None = None,
) -> Rendering:
    """Volume rendering of sampled densities and colors."""
    raise NotImplementedError


def render_rays(
    coarse: Field,
    fine: Field | None,
    rays: Rays,
    config: RenderConfig,
    *,
    jitter: np.ndarray | None = None,
    uniforms: np.ndarray | None = None,
) -> tuple[Rendering, Rendering | None]:
    """Both passes: regular samples first, then more of them where the first pass saw something."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
