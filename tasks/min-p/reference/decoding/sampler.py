"""Min-p sampling (Nguyen et al., ICLR 2025)."""

from __future__ import annotations

import numpy as np

from .masks import masked
from .settings import SamplerSettings


def kept(logits: np.ndarray, settings: SamplerSettings) -> np.ndarray:
    """Which tokens remain after truncation: `(..., V)` bool."""
    logits = masked(logits)
    rank = np.argsort(np.argsort(-logits, kind="stable"))
    if settings.temperature == 0.0:
        return rank == 0
    possible = logits > -np.inf
    with np.errstate(divide="ignore", over="ignore"):
        scaled = (logits - logits.max(axis=-1, keepdims=True)) / settings.temperature
        remaining = possible & (scaled >= np.log(settings.min_p))
    if settings.top_p < 1.0:  # at 1, rounding of the sums must not cost a token
        weights = np.exp(-np.sort(-scaled))
        sums = np.cumsum(weights, axis=-1)
        nucleus = np.sum(sums - weights < settings.top_p * sums[..., -1:], axis=-1, keepdims=True)
        remaining &= rank < nucleus
    return remaining | (possible & (rank < settings.min_tokens))


def probabilities(logits: np.ndarray, settings: SamplerSettings, allowed: np.ndarray | None = None) -> np.ndarray:
    """The distribution to sample from: `(..., V)` float64."""
    logits = masked(logits, allowed)
    with np.errstate(over="ignore"):
        scaled = (logits - logits.max(axis=-1, keepdims=True)) / (settings.temperature or 1.0)
    weights = np.where(kept(logits, settings), np.exp(scaled), 0.0)
    return weights / weights.sum(axis=-1, keepdims=True)


def sample(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Tokens `(...)` int64 from weights `(..., V)` and one number in [0, 1) for each of them, by the inverse CDF."""
    weights, uniforms = np.asarray(weights, dtype=np.float64), np.asarray(uniforms)
    if weights.shape[:-1] != uniforms.shape or weights.ndim == 0:
        raise ValueError(f"weights {weights.shape} need as many numbers as rows, not {uniforms.shape}")
    if not np.all((uniforms >= 0.0) & (uniforms < 1.0)):
        raise ValueError("the uniform numbers must be in [0, 1)")
    sums = np.cumsum(weights, axis=-1)
    if not np.all(sums[..., -1] > 0.0):
        raise ValueError("a row of weights has no mass")
    return np.sum(sums <= (uniforms * sums[..., -1])[..., None], axis=-1)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
