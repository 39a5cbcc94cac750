"""Draws by counting, and rejection by elimination: what is left of a block is updated in place."""

import numpy as np

from .results import NEGLIGIBLE


def draw(weights, uniforms) -> np.ndarray:
    weights = np.asarray(weights, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    legal = weights.ndim == uniforms.ndim == 1 and weights.size > 0
    if not (legal and np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
        raise ValueError("weights must be a vector of finite numbers of at least 0, not all 0")
    if np.isnan(uniforms).any() or (uniforms < 0).any() or (uniforms >= 1).any():
        raise ValueError("numbers must be in [0, 1)")
    sums = weights.cumsum()
    beyond = sums[None, :] > (uniforms * sums[-1])[:, None] if sums.size * uniforms.size < 10**6 else None
    if beyond is not None:
        return beyond.argmax(axis=1).astype(np.int64)
    return np.array([np.argmax(sums > u * sums[-1]) for u in uniforms], dtype=np.int64)


def rejection(block, uniforms, limit=None):
    left = np.array(block, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if uniforms.ndim != 1 or left.shape != uniforms.shape * 2:
        raise ValueError(f"{left.shape} {uniforms.shape}")
    original = left.copy()
    chosen = np.zeros(0, dtype=np.int64)
    for i, threshold in enumerate(np.maximum(uniforms, NEGLIGIBLE) * left.diagonal()):
        if limit is not None and chosen.size >= limit:
            break
        if left[i, i] > threshold:
            left -= np.outer(left[:, i], left[i]) / left[i, i]
            chosen = np.append(chosen, i)
    inside = original[np.ix_(chosen, chosen)]
    scale = np.sqrt(inside.diagonal())  # a matrix of ones on the diagonal is of no extreme size
    return chosen, scale[:, None] * np.linalg.cholesky(inside / np.outer(scale, scale))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
