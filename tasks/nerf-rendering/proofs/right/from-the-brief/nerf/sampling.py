"""Where along a ray to look (Mildenhall et al. 2020, sections 4 and 5.2)."""

from __future__ import annotations

import numpy as np

from .settings import SPACINGS


def stratified(
    near: np.ndarray, far: np.ndarray, count: int, jitter: np.ndarray | None = None, spacing: str = "linear"
) -> np.ndarray:
    """Depths of `count` samples per ray, one in each of `count` equal bins between `near` and `far`.

    near, far: `(R,)`. jitter: `(R, count)`, the places of the samples in their bins, in [0, 1); None for the middles.
    Returns `(R, count)`. The bins are equal in depth ("linear") or in 1 / depth ("disparity").
    Raises ValueError for an unknown spacing, a count below 1, arrays that do not match, and empty intervals.
    """
    near, far = np.asarray(near, dtype=np.float64), np.asarray(far, dtype=np.float64)
    if spacing not in SPACINGS:
        raise ValueError(f"spacing is one of {SPACINGS}, not {spacing!r}")
    if count < 1:
        raise ValueError(f"count {count} must be at least 1")
    if near.ndim != 1 or near.shape != far.shape:
        raise ValueError(f"near {near.shape} and far {far.shape} must be vectors of one length")
    if not np.all(near < far):
        raise ValueError("near must be less than far on every ray")
    if spacing == "disparity" and not np.all(near > 0.0):
        raise ValueError("near must be positive for samples that are even in disparity")

    places = np.full((len(near), count), 0.5) if jitter is None else np.asarray(jitter, dtype=np.float64)
    if places.shape != (len(near), count):
        raise ValueError(f"jitter has the shape {places.shape}, not {(len(near), count)}")
    shares = (np.arange(count) + places) / count
    near, far = near[:, None], far[:, None]
    if spacing == "linear":
        return near + shares * (far - near)
    return 1.0 / ((1.0 - shares) / near + shares / far)


def resample(edges: np.ndarray, weights: np.ndarray, uniforms: np.ndarray, floor: float = 1e-5) -> np.ndarray:
    """Depths drawn from a piecewise constant density by inverting its distribution function.

    edges: `(R, M + 1)`, increasing. weights: `(R, M)`, not negative; a bin is chosen in proportion to its weight plus
    `floor`, whatever its width. uniforms: `(R, K)` in [0, 1). Returns `(R, K)`, in the order of `uniforms`.
    Raises ValueError for shapes that do not match.
    """
    edges = np.asarray(edges, dtype=np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if not edges.ndim == weights.ndim == uniforms.ndim == 2:
        raise ValueError("edges, weights and uniforms must have two dimensions")
    rows, bins = weights.shape
    if bins < 1 or edges.shape != (rows, bins + 1) or len(uniforms) != rows:
        raise ValueError(f"edges {edges.shape}, weights {weights.shape} and uniforms {uniforms.shape} do not match")

    cumulative = _cumulative(weights + floor)
    chosen = _last_at_most(cumulative, uniforms)
    below, above = _ends(cumulative, chosen)
    left, right = _ends(edges, chosen)
    depths = left + (uniforms - below) / (above - below) * (right - left)
    return np.clip(depths, left, right)


def _cumulative(weights: np.ndarray) -> np.ndarray:
    """The cumulative distribution `(R, M + 1)`, from exactly 0 to exactly 1; rows of zeros count as even."""
    weights = np.where(np.any(weights > 0.0, axis=1, keepdims=True), weights, 1.0)
    # A power of two changes no digit, and keeps the sums of huge and of tiny weights in range.
    exponents = np.frexp(weights.max(axis=1, keepdims=True))[1]
    sums = np.cumsum(np.ldexp(weights, -exponents), axis=1)
    return np.concatenate([np.zeros((len(sums), 1)), sums / sums[:, -1:]], axis=1)


def _last_at_most(cumulative: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """The bin j `(R, K)` with `C_j <= u < C_{j+1}` for each number, by bisection of all rows at once."""
    low = np.zeros(uniforms.shape, dtype=np.int64)  # C[low] <= u holds throughout
    high = np.full(uniforms.shape, cumulative.shape[1] - 1)  # and so does u < C[high], as the last C is 1
    for _ in range((cumulative.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        right = np.take_along_axis(cumulative, middle, axis=1) <= uniforms
        low, high = np.where(right, middle, low), np.where(right, high, middle)
    return low


def _ends(values: np.ndarray, bins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values at the left and at the right end of bins, both in the shape of `bins`."""
    return np.take_along_axis(values, bins, axis=1), np.take_along_axis(values, bins + 1, axis=1)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
