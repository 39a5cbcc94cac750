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

    densities `(R, N)`, colors `(R, N, 3)`, depths `(R, N)` increasing, directions `(R, 3)` of any length. Negative
    densities count as 0. `background` (or black) shines through where the ray is not opaque.
    """
    intervals = np.diff(depths, axis=1)
    intervals = np.concatenate([intervals, np.full((len(depths), 1), LAST_INTERVAL)], axis=1)
    lengths = intervals * np.linalg.norm(directions, axis=1)[:, None]
    with np.errstate(over="ignore"):  # an infinite optical thickness is as good as any large one
        thickness = np.maximum(densities, 0.0) * lengths
        before = np.cumsum(thickness, axis=1)[:, :-1]
    before = np.concatenate([np.zeros((len(depths), 1)), before], axis=1)
    weights = np.exp(-before) * -np.expm1(-thickness)  # expm1: thin air keeps its digits

    opacity = weights.sum(axis=1)
    color = (weights[:, :, None] * colors).sum(axis=1)
    if background is not None:
        color = color + (1.0 - opacity)[:, None] * np.asarray(background, dtype=np.float64)
    return Rendering(
        color=color,
        depth=(weights * depths).sum(axis=1),
        opacity=opacity,
        weights=weights,
        samples=np.array(depths, dtype=np.float64),
    )


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

    Without a `fine` field the coarse one is asked in both passes. jitter `(R, config.coarse)` and uniforms
    `(R, config.fine)`, in [0, 1), default to the middles of equal bins. Fields are asked for at most `config.chunk`
    rays at once. The second rendering is None if `config.fine` is 0. Raises ValueError for bad arguments.
    """
    if config.fine > 0 and config.coarse < 3:
        raise ValueError(f"a second pass needs at least 3 coarse samples, not {config.coarse}")
    if config.chunk < 1:
        raise ValueError(f"chunk must be at least 1, not {config.chunk}")

    def see(field: Field, depths: np.ndarray) -> Rendering:
        colors, densities = np.zeros((*depths.shape, 3)), np.zeros(depths.shape)
        for start in range(0, rays.count, config.chunk):
            some = rays.part(start, start + config.chunk)
            cut = slice(start, start + some.count)
            colors[cut], densities[cut] = field(some.at(depths[cut]), some.viewing)
        return composite(densities, colors, depths, rays.directions, config.background)

    depths = stratified(rays.near, rays.far, config.coarse, jitter, config.spacing)
    first = see(coarse, depths)
    if config.fine <= 0:
        return first, None

    if uniforms is None:
        uniforms = np.tile((np.arange(config.fine) + 0.5) / config.fine, (rays.count, 1))
    if np.shape(uniforms) != (rays.count, config.fine):
        raise ValueError(f"uniforms must have shape {(rays.count, config.fine)}, not {np.shape(uniforms)}")
    middles = 0.5 * (depths[:, 1:] + depths[:, :-1])
    added = resample(middles, first.weights[:, 1:-1], uniforms)
    union = np.sort(np.concatenate([depths, added], axis=1), axis=1)
    return first, see(coarse if fine is None else fine, union)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
