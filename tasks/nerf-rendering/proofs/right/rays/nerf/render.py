"""Volume rendering with a running transmittance, and chunks of equal size."""

import math

import numpy as np

from .sampling import resample, stratified
from .settings import Rendering

LAST_INTERVAL = 1e10


def composite(densities, colors, depths, directions, background=None):
    sigma = np.maximum(np.asarray(densities, dtype=np.float64), 0.0)
    seen = np.asarray(colors, dtype=np.float64)
    t = np.array(depths, dtype=np.float64)
    length = np.sqrt(np.sum(np.asarray(directions, dtype=np.float64) ** 2, axis=-1))
    rays, count = t.shape
    weights = np.zeros((rays, count))
    passed = np.zeros(rays)  # optical depth in front of the sample
    with np.errstate(over="ignore"):
        for i in range(count):
            gap = t[:, i + 1] - t[:, i] if i + 1 < count else np.full(rays, LAST_INTERVAL)
            thickness = sigma[:, i] * (gap * length)
            weights[:, i] = np.exp(-passed) * -np.expm1(-thickness)
            passed = passed + thickness
    opacity = weights.sum(axis=1)
    color = np.einsum("rn,rnc->rc", weights, seen)
    if background is not None:
        color = color + (1.0 - opacity)[:, None] * np.asarray(background, dtype=np.float64)
    return Rendering(color=color, depth=(weights * t).sum(axis=1), opacity=opacity, weights=weights, samples=t)


def _ask(field, rays, depths, chunk):
    """Chunks of nearly equal size, none larger than `chunk`."""
    count, samples = depths.shape
    colors, densities = np.zeros((count, samples, 3)), np.zeros((count, samples))
    parts = math.ceil(count / chunk)
    for part in range(parts):
        start, stop = count * part // parts, count * (part + 1) // parts
        some = rays.part(start, stop)
        colors[start:stop], densities[start:stop] = field(some.at(depths[start:stop]), some.viewing)
    return colors, densities


def render_rays(coarse, fine, rays, config, *, jitter=None, uniforms=None):
    if config.chunk < 1:
        raise ValueError(f"chunk must be at least 1, not {config.chunk}")
    if config.fine > 0 and config.coarse < 3:
        raise ValueError("a second pass needs at least 3 coarse samples")
    if config.fine > 0:
        if uniforms is None:
            uniforms = np.tile((np.arange(config.fine) + 0.5) / config.fine, (rays.count, 1))
        uniforms = np.asarray(uniforms, dtype=np.float64)
        if uniforms.shape != (rays.count, config.fine):
            raise ValueError(f"uniforms must have the shape {(rays.count, config.fine)}, not {uniforms.shape}")
    depths = stratified(rays.near, rays.far, config.coarse, jitter, config.spacing)
    colors, densities = _ask(coarse, rays, depths, config.chunk)
    first = composite(densities, colors, depths, rays.directions, config.background)
    if config.fine == 0:
        return first, None
    middles = 0.5 * depths[:, 1:] + 0.5 * depths[:, :-1]
    more = resample(middles, first.weights[:, 1:-1], uniforms)
    every = np.sort(np.concatenate([depths, more], axis=1), axis=1)
    colors, densities = _ask(coarse if fine is None else fine, rays, every, config.chunk)
    return first, composite(densities, colors, every, rays.directions, config.background)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
