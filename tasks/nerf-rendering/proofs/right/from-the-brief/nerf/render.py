"""From samples to what a ray sees (Mildenhall et al. 2020, sections 4 and 5.2)."""

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
    """Volume rendering of sampled densities and colors.

    densities, depths: `(R, N)`. colors: `(R, N, 3)`. directions: `(R, 3)`, of any length. Negative densities count as 0.
    """
    densities = np.maximum(np.asarray(densities, dtype=np.float64), 0.0)
    colors = np.asarray(colors, dtype=np.float64)
    samples = np.array(depths, dtype=np.float64)
    lengths = np.linalg.norm(np.asarray(directions, dtype=np.float64), axis=1, keepdims=True)

    last = np.full((len(samples), 1), LAST_INTERVAL)
    intervals = np.concatenate([np.diff(samples, axis=1), last], axis=1) * lengths
    with np.errstate(over="ignore"):  # an infinite thickness lets nothing through, as it should
        thickness = densities * intervals
        before = np.concatenate([np.zeros((len(samples), 1)), np.cumsum(thickness[:, :-1], axis=1)], axis=1)
    weights = np.exp(-before) * -np.expm1(-thickness)

    opacity = weights.sum(axis=1)
    color = (weights[:, :, None] * colors).sum(axis=1)
    if background is not None:
        color = color + (1.0 - opacity)[:, None] * np.asarray(background, dtype=np.float64)
    return Rendering(color, (weights * samples).sum(axis=1), opacity, weights, samples)


def render_rays(
    coarse: Field,
    fine: Field | None,
    rays: Rays,
    config: RenderConfig,
    *,
    jitter: np.ndarray | None = None,
    uniforms: np.ndarray | None = None,
) -> tuple[Rendering, Rendering | None]:
    """Both passes: regular samples first, then more of them where the first pass saw something.

    jitter: `(R, config.coarse)`, see `stratified`. uniforms: `(R, config.fine)` numbers for the second pass; None for
    evenly spaced ones. The second rendering is None if `config.fine` is 0.
    Raises ValueError for impossible settings and arrays that do not match, before a field is called.
    """
    if config.chunk < 1:
        raise ValueError(f"chunk {config.chunk} must be at least 1")
    if config.fine < 0:
        raise ValueError(f"fine {config.fine} must not be negative")
    if config.fine > 0:
        if config.coarse < 3:
            raise ValueError(f"a second pass needs at least 3 coarse samples, not {config.coarse}")
        uniforms = _numbers(uniforms, (rays.count, config.fine))

    depths = stratified(rays.near, rays.far, config.coarse, jitter, config.spacing)
    first = _look(coarse, rays, depths, config)
    if config.fine == 0:
        return first, None

    middles = 0.5 * (depths[:, :-1] + depths[:, 1:])
    added = resample(middles, first.weights[:, 1:-1], uniforms)
    union = np.sort(np.concatenate([depths, added], axis=1), axis=1)
    return first, _look(coarse if fine is None else fine, rays, union, config)


def _numbers(uniforms: np.ndarray | None, shape: tuple[int, int]) -> np.ndarray:
    """The numbers of the second pass: the given ones, or else the same regular ones for every ray."""
    if uniforms is None:
        return np.broadcast_to((np.arange(shape[1]) + 0.5) / shape[1], shape)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if uniforms.shape != shape:
        raise ValueError(f"uniforms have the shape {uniforms.shape}, not {shape}")
    return uniforms


def _look(field: Field, rays: Rays, depths: np.ndarray, config: RenderConfig) -> Rendering:
    """One pass: the field at the `(R, N)` depths, asked for a chunk of rays at a time, and what is seen of it."""
    colors, densities = np.empty((*depths.shape, 3)), np.empty(depths.shape)
    for start in range(0, rays.count, config.chunk):
        cut = slice(start, start + config.chunk)
        part = rays.part(cut.start, cut.stop)
        colors[cut], densities[cut] = field(part.at(depths[cut]), part.viewing)
    return composite(densities, colors, depths, rays.directions, config.background)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
