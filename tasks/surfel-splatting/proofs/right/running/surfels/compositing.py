"""Compositing with a running transmittance, all pixels at once."""

from __future__ import annotations

import numpy as np

from .records import Rendering, Samples, Splats
from .settings import RenderConfig


def composite(samples: Samples, splats: Splats, config: RenderConfig) -> Rendering:
    """One splat after the other."""
    count, pixels = samples.alphas.shape
    left, active = np.ones(pixels), np.ones(pixels, dtype=bool)
    weights, median = np.zeros((count, pixels)), np.zeros(pixels)
    for k in range(count):
        alpha, depth = samples.alphas[k], samples.depths[k]
        rest = left * (1.0 - alpha)
        active &= rest >= config.min_transmittance
        now = active & (alpha != 0.0)
        weights[k, now] = (left * alpha)[now]
        before_middle = now & (left > 0.5)
        median[before_middle] = depth[before_middle]
        left = np.where(now, rest, left)
    opacity = np.einsum("kp->p", weights)
    mean = np.einsum("kp,kp->p", weights, samples.depths)
    np.divide(mean, opacity, out=mean, where=opacity != 0.0)
    return Rendering(
        color=np.einsum("kp,kc->pc", weights, splats.colors) + np.multiply.outer(left, np.array(config.background)),
        opacity=opacity,
        transmittance=left,
        mean_depth=mean,
        median_depth=median,
        normal=np.einsum("kp,kc->pc", weights, splats.normals),
        weights=weights,
    )

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
