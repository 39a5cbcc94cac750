"""From samples to what a ray sees (Mildenhall et al. 2020, sections 4 and 5.2)."""

from __future__ import annotations

import numpy as np

from .fields import Field
from .rays import Rays
from .sampling import resample, stratified
from .settings import RenderConfig, Rendering

LAST_INTERVAL = 1e10
"""Length of the interval behind the last sample, in depth: practically infinite."""

OPAQUE = 1e4
"""An optical depth that lets no light through in double precision; more is not told apart from it."""


def composite(
    densities: np.ndarray,
    colors: np.ndarray,
    depths: np.ndarray,
    directions: np.ndarray,
    background: tuple[float, float, float] | None = None,
) -> Rendering:
    """Volume rendering of sampled densities and colors."""
    densities = np.asarray(densities, dtype=np.float64)
    colors = np.asarray(colors, dtype=np.float64)
    samples = np.array(depths, dtype=np.float64)
    lengths = np.linalg.norm(np.asarray(directions, dtype=np.float64), axis=1)
    rays, count = samples.shape

    # From the front to the back of all rays at once, with the matter that has been passed so far.
    weights = np.empty((rays, count))
    passed = np.zeros(rays)
    color = np.zeros((rays, 3))
    depth = np.zeros(rays)
    opacity = np.zeros(rays)
    for i in range(count):
        interval = samples[:, i + 1] - samples[:, i] if i + 1 < count else LAST_INTERVAL
        with np.errstate(over="ignore"):
            optical = np.minimum(np.maximum(densities[:, i], 0.0) * (interval * lengths), OPAQUE)
        weight = np.exp(-passed) * -np.expm1(-optical)
        weights[:, i] = weight
        color += weight[:, None] * colors[:, i]
        depth += weight * samples[:, i]
        opacity += weight
        passed += optical
    if background is not None:
        color += (1.0 - opacity)[:, None] * np.asarray(background, dtype=np.float64)
    return Rendering(color=color, depth=depth, opacity=opacity, weights=weights, samples=samples)


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
    if config.chunk < 1:
        raise ValueError(f"chunk must be at least 1, not {config.chunk}")
    refined = config.fine > 0
    if refined:
        if config.coarse < 3:
            raise ValueError(f"a second pass needs at least 3 samples in the first one, not {config.coarse}")
        shape = (rays.count, config.fine)
        if uniforms is None:
            uniforms = np.broadcast_to((np.arange(config.fine) + 0.5) / config.fine, shape)
        elif np.shape(uniforms) != shape:
            raise ValueError(f"uniforms have shape {np.shape(uniforms)}, not {shape}")

    depths = stratified(rays.near, rays.far, config.coarse, jitter, config.spacing)
    first = _look(coarse, rays, depths, config)
    if not refined:
        return first, None

    edges = depths[:, :-1] + 0.5 * np.diff(depths, axis=1)
    added = resample(edges, first.weights[:, 1:-1], uniforms)
    union = np.sort(np.hstack([depths, added]), axis=1)
    return first, _look(coarse if fine is None else fine, rays, union, config)


def _look(field: Field, rays: Rays, depths: np.ndarray, config: RenderConfig) -> Rendering:
    """What the rays see of a field at the given depths."""
    colors = np.empty((*depths.shape, 3))
    densities = np.empty(depths.shape)
    # The fewest chunks that are allowed, all of about the same size.
    chunks = -(-rays.count // config.chunk)
    for chunk in range(chunks):
        start, stop = chunk * rays.count // chunks, (chunk + 1) * rays.count // chunks
        part = rays.part(start, stop)
        colors[start:stop], densities[start:stop] = field(part.at(depths[start:stop]), part.viewing)
    return composite(densities, colors, depths, rays.directions, config.background)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
