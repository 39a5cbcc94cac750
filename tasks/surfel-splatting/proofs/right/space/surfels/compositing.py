"""Compositing, pixel by pixel."""

import numpy as np

from .records import Rendering


def composite(samples, splats, config):
    count, pixels = samples.alphas.shape
    color, normal = np.zeros((pixels, 3)), np.zeros((pixels, 3))
    opacity, transmittance = np.zeros(pixels), np.ones(pixels)
    mean_depth, median_depth, weights = np.zeros(pixels), np.zeros(pixels), np.zeros((count, pixels))
    for pixel in range(pixels):
        left, total = 1.0, 0.0
        for k in np.flatnonzero(samples.alphas[:, pixel]):
            alpha, depth = samples.alphas[k, pixel], samples.depths[k, pixel]
            rest = left * (1.0 - alpha)
            if rest < config.min_transmittance:
                break
            weight = left * alpha
            weights[k, pixel] = weight
            opacity[pixel] += weight
            total += weight * depth
            color[pixel] += weight * splats.colors[k]
            normal[pixel] += weight * splats.normals[k]
            if left > 0.5:
                median_depth[pixel] = depth
            left = rest
        transmittance[pixel] = left
        color[pixel] += left * np.asarray(config.background)
        if opacity[pixel] > 0.0:
            mean_depth[pixel] = total / opacity[pixel]
    return Rendering(color, opacity, transmittance, mean_depth, median_depth, normal, weights)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
