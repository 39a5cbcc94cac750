"""Compositing, front to back."""

from __future__ import annotations

import numpy as np

from .records import Rendering, Samples, Splats
from .settings import RenderConfig


def composite(samples: Samples, splats: Splats, config: RenderConfig) -> Rendering:
    """Blend the samples of each pixel in the order of `splats`."""
    alphas, depths = samples.alphas, samples.depths
    count, pixels = alphas.shape
    after = np.concatenate([np.ones((1, pixels)), np.cumprod(1.0 - alphas, axis=0)])
    blended = (alphas > 0.0) & (after[1:] >= config.min_transmittance)
    weights = np.where(blended, after[:-1] * alphas, 0.0)
    transmittance = np.min(np.where(blended, after[1:], 1.0), axis=0, initial=1.0)

    opacity = weights.sum(axis=0)
    some = opacity > 0.0
    mean_depth = np.sum(weights * depths, axis=0) / np.where(some, opacity, 1.0)
    # The last sample in front of which more than half of the light is left.
    place = np.max(np.where(blended & (after[:-1] > 0.5), np.arange(count)[:, None], -1), axis=0, initial=-1)
    padded = np.concatenate([depths, np.zeros((1, pixels))])  # place -1
    return Rendering(
        color=weights.T @ splats.colors + transmittance[:, None] * np.asarray(config.background, dtype=np.float64),
        opacity=opacity,
        transmittance=transmittance,
        mean_depth=mean_depth,
        median_depth=padded[place, np.arange(pixels)],
        normal=weights.T @ splats.normals,
        weights=weights,
    )


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
