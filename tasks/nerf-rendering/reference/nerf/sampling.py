"""Where along a ray to look (Mildenhall et al. 2020, sections 4 and 5.2)."""

from __future__ import annotations

import numpy as np

from .settings import SPACINGS


def stratified(
    near: np.ndarray, far: np.ndarray, count: int, jitter: np.ndarray | None = None, spacing: str = "linear"
) -> np.ndarray:
    """Depths of `count` samples per ray, one in each of `count` equal bins between `near` and `far`.

    near, far `(R,)`, jitter `(R, count)` in [0, 1): the place of a sample within its bin, its middle without jitter.
    Bins are equal in depth ("linear") or in 1 / depth ("disparity"). Returns `(R, count)`, increasing along a ray.
    Raises ValueError for bad arguments.
    """
    near = np.asarray(near, dtype=np.float64)[:, None]
    far = np.asarray(far, dtype=np.float64)[:, None]
    if spacing not in SPACINGS:
        raise ValueError(f"unknown spacing {spacing!r}: choose one of {', '.join(SPACINGS)}")
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    if np.any(near >= far):
        raise ValueError("near must be less than far on every ray")
    if spacing == "disparity" and np.any(near <= 0.0):
        raise ValueError("spacing in disparity needs a positive near")
    shape = (len(near), count)
    within = np.full(shape, 0.5) if jitter is None else np.asarray(jitter, dtype=np.float64)
    if within.shape != shape:
        raise ValueError(f"jitter must have shape {shape}, not {within.shape}")

    share = (np.arange(count) + within) / count
    if spacing == "linear":
        return near + share * (far - near)
    return 1.0 / ((1.0 - share) / near + share / far)


def resample(edges: np.ndarray, weights: np.ndarray, uniforms: np.ndarray, floor: float = 1e-5) -> np.ndarray:
    """Depths drawn from a piecewise constant density by inverting its distribution function.

    edges `(R, M + 1)` increasing, weights `(R, M)` of the bins between them, uniforms `(R, K)` in [0, 1) -> `(R, K)`
    in the order of `uniforms`. A bin has a probability proportional to its weight plus `floor`; where a row has no
    weight at all every bin is as likely. Raises ValueError where shapes do not match.
    """
    edges, weights, uniforms = (np.asarray(values, dtype=np.float64) for values in (edges, weights, uniforms))
    rays, bins = weights.shape
    if edges.shape != (rays, bins + 1) or uniforms.ndim != 2 or len(uniforms) != rays:
        raise ValueError(f"edges {edges.shape}, weights {weights.shape} and uniforms {uniforms.shape} do not match")

    mass = weights + floor
    total = mass.sum(axis=1, keepdims=True)
    probability = np.where(total > 0.0, mass, 1.0) / np.where(total > 0.0, total, bins)
    cumulative = np.concatenate([np.zeros((rays, 1)), np.cumsum(probability, axis=1)], axis=1)
    # Rounding may leave the last value of C below u; u must not pass an empty bin at the end, so it stays below that value.
    uniforms = np.minimum(uniforms, np.nextafter(cumulative[:, -1:], 0.0))
    # The bin whose lower end is the last one at or below u: a bin without probability is never chosen.
    index = (uniforms[:, :, None] >= cumulative[:, None, 1:-1]).sum(axis=2)
    below = np.take_along_axis(cumulative, index, axis=1)
    share = (uniforms - below) / np.take_along_axis(probability, index, axis=1)
    left = np.take_along_axis(edges, index, axis=1)
    right = np.take_along_axis(edges, index + 1, axis=1)
    return left + np.clip(share, 0.0, 1.0) * (right - left)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
