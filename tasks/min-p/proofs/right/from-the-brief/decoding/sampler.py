"""Min-p sampling (Nguyen et al., ICLR 2025)."""

from __future__ import annotations

import numpy as np

from .masks import masked
from .settings import SamplerSettings


def _scaled(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Logarithms of the probabilities relative to the largest one, at a temperature above 0."""
    with np.errstate(over="ignore", under="ignore"):
        return (logits - logits.max(axis=-1, keepdims=True)) / temperature


def _kept(logits: np.ndarray, settings: SamplerSettings) -> np.ndarray:
    """`kept` for logits that `masked` returned."""
    possible = logits > -np.inf
    order = np.argsort(-logits, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1, kind="stable")
    if settings.temperature == 0.0:
        return rank == 0

    scaled = _scaled(logits, settings.temperature)
    keep = np.ones(logits.shape, dtype=bool)
    if settings.top_p < 1.0:
        sums = np.cumsum(np.take_along_axis(np.exp(scaled), order, axis=-1), axis=-1)
        before = np.zeros(sums.shape)
        before[..., 1:] = sums[..., :-1] / sums[..., -1:]
        keep &= np.take_along_axis(before, rank, axis=-1) < settings.top_p
    if settings.min_p == 1.0:
        keep &= logits == logits.max(axis=-1, keepdims=True)
    elif settings.min_p > 0.0:
        keep &= scaled >= np.log(settings.min_p)
    return (keep | (rank < settings.min_tokens)) & possible


def kept(logits: np.ndarray, settings: SamplerSettings) -> np.ndarray:
    """Which tokens remain after truncation: `(..., V)` bool."""
    return _kept(masked(logits), settings)


def probabilities(logits: np.ndarray, settings: SamplerSettings, allowed: np.ndarray | None = None) -> np.ndarray:
    """The distribution to sample from: `(..., V)` float64."""
    logits = masked(logits, allowed)
    keep = _kept(logits, settings)
    if settings.temperature == 0.0:
        return keep.astype(np.float64)
    weights = np.where(keep, np.exp(_scaled(logits, settings.temperature)), 0.0)
    return weights / weights.sum(axis=-1, keepdims=True)


def sample(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Tokens `(...)` int64 from weights `(..., V)` and one number in [0, 1) for each of them, by the inverse CDF."""
    weights = np.asarray(weights, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if weights.ndim == 0 or weights.shape[:-1] != uniforms.shape:
        raise ValueError(f"weights {weights.shape} do not fit to uniforms {uniforms.shape}")
    if not np.all((uniforms >= 0.0) & (uniforms < 1.0)):
        raise ValueError("uniforms must be in [0, 1)")
    largest = weights.max(axis=-1, keepdims=True, initial=0.0)
    if not np.all(largest > 0.0):
        raise ValueError("a row has no weight")
    # a power of two does not change digits, and keeps sums away from both ends of the range
    sums = np.cumsum(np.ldexp(weights, -np.frexp(largest)[1]), axis=-1)
    return np.argmax(sums > uniforms[..., None] * sums[..., -1:], axis=-1)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
