"""Compositing, front to back."""

import numpy as np

from .records import Rendering, Samples, Splats
from .settings import RenderConfig


def composite(samples: Samples, splats: Splats, config: RenderConfig) -> Rendering:
    """Blend the samples of each pixel in the order of `splats`."""
    count, total = samples.alphas.shape
    weights = np.zeros((count, total))
    color = np.zeros((total, 3))
    normal = np.zeros((total, 3))
    opacity = np.zeros(total)
    depth_sum = np.zeros(total)
    median_depth = np.zeros(total)
    left = np.ones(total)  # the transmittance in front of the next sample
    open_ = np.ones(total, dtype=bool)  # pixels whose ray has not ended

    for k in range(count):
        alphas = samples.alphas[k]
        active = np.flatnonzero(open_ & (alphas > 0.0))
        if active.size == 0:
            continue
        after = left[active] * (1.0 - alphas[active])
        ends = after < config.min_transmittance
        open_[active[ends]] = False
        blended, after = active[~ends], after[~ends]
        if blended.size == 0:
            continue

        before = left[blended]
        weight = before * alphas[blended]
        depth = samples.depths[k, blended]
        weights[k, blended] = weight
        opacity[blended] += weight
        depth_sum[blended] += weight * depth
        color[blended] += weight[:, None] * splats.colors[k]
        normal[blended] += weight[:, None] * splats.normals[k]
        front = before > 0.5
        median_depth[blended[front]] = depth[front]
        left[blended] = after

    # The first blended sample has a transmittance of 1 in front: the opacity is 0 only where there is none.
    hit = opacity > 0.0
    mean_depth = np.zeros(total)
    mean_depth[hit] = depth_sum[hit] / opacity[hit]
    color += left[:, None] * np.asarray(config.background, dtype=np.float64)
    return Rendering(
        color=color,
        opacity=opacity,
        transmittance=left,
        mean_depth=mean_depth,
        median_depth=median_depth,
        normal=normal,
        weights=weights,
    )


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
