"""Where along a ray to look (Mildenhall et al. 2020, sections 4 and 5.2)."""

from __future__ import annotations

import numpy as np

from .settings import SPACINGS


def stratified(
    near: np.ndarray, far: np.ndarray, count: int, jitter: np.ndarray | None = None, spacing: str = "linear"
) -> np.ndarray:
    """Depths of `count` samples per ray, one in each of `count` equal bins between `near` and `far`."""
    near = np.asarray(near, dtype=np.float64)
    far = np.asarray(far, dtype=np.float64)
    if spacing not in SPACINGS:
        raise ValueError(f"spacing must be one of {SPACINGS}, not {spacing!r}")
    if count < 1:
        raise ValueError(f"there must be at least one sample per ray, not {count}")
    if (near >= far).any():
        raise ValueError("near must be less than far on every ray")
    if spacing == "disparity" and (near <= 0.0).any():
        raise ValueError("disparity needs a positive near on every ray")
    shape = (len(near), count)
    places = np.full(shape, 0.5) if jitter is None else np.asarray(jitter, dtype=np.float64)
    if places.shape != shape:
        raise ValueError(f"jitter has shape {places.shape}, not {shape}")

    depths = np.empty(shape)
    for i in range(count):
        share = (i + places[:, i]) / count
        if spacing == "linear":
            depths[:, i] = near + share * (far - near)
        else:
            depths[:, i] = 1.0 / ((1.0 - share) / near + share / far)
    return depths


def resample(edges: np.ndarray, weights: np.ndarray, uniforms: np.ndarray, floor: float = 1e-5) -> np.ndarray:
    """Depths drawn from a piecewise constant density by inverting its distribution function."""
    edges = np.asarray(edges, dtype=np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if not edges.ndim == weights.ndim == uniforms.ndim == 2:
        raise ValueError("edges, weights and uniforms must each have a row per ray")
    if not len(edges) == len(weights) == len(uniforms):
        raise ValueError(f"{len(edges)}, {len(weights)} and {len(uniforms)} rows do not match")
    if weights.shape[1] < 1 or edges.shape[1] != weights.shape[1] + 1:
        raise ValueError(f"{weights.shape[1]} bins do not have {edges.shape[1]} edges")

    depths = np.empty(uniforms.shape)
    for row in range(len(edges)):
        depths[row] = _invert(edges[row], weights[row] + floor, uniforms[row])
    return depths


def _invert(edges: np.ndarray, masses: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """The depths, on one ray, below which the shares `uniforms` of the mass lie."""
    heaviest = masses.max()
    masses = masses / heaviest if heaviest > 0.0 else np.ones_like(masses)
    ends = np.cumsum(masses)
    ends /= ends[-1]
    # The first bin that ends above u is not empty. Nothing ends above a u of 1 (or what rounds to it): it belongs to
    # the last bin that is not empty.
    bins = np.minimum(np.searchsorted(ends, uniforms, side="right"), np.flatnonzero(masses)[-1])
    starts = np.concatenate(([0.0], ends[:-1]))[bins]
    left, right = edges[bins], edges[bins + 1]
    lengths = ends[bins] - starts
    inside = np.divide(uniforms - starts, lengths, out=np.ones_like(starts), where=lengths > 0.0)
    return np.clip(left + inside * (right - left), left, right)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
