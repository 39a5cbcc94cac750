"""Min-p sampling on sorted logits."""

from __future__ import annotations

import numpy as np

from .masks import masked
from .settings import SamplerSettings


def _log_weights(logits: np.ndarray, temperature: float) -> np.ndarray:
    with np.errstate(over="ignore"):
        return (logits - np.max(logits, axis=-1, keepdims=True)) / temperature


def kept(logits: np.ndarray, settings: SamplerSettings) -> np.ndarray:
    logits = masked(logits)
    size = logits.shape[-1]
    flat = logits.reshape(-1, size)
    tokens = np.broadcast_to(np.arange(size), flat.shape)
    order = np.lexsort((tokens, -flat), axis=-1)
    falling = np.take_along_axis(flat, order, axis=-1)
    count = min(settings.min_tokens, size)
    stay = np.zeros(flat.shape, dtype=bool)
    if settings.temperature == 0:
        stay[:, 0] = True
    else:
        p = np.exp(_log_weights(falling, settings.temperature))
        p /= p.sum(axis=-1, keepdims=True)
        before = np.zeros(flat.shape)
        np.cumsum(p[:, :-1], axis=-1, out=before[:, 1:])
        stay = p >= settings.min_p * p[:, :1] if settings.min_p < 1 else falling == falling[:, :1]
        if settings.top_p != 1:
            stay &= before < settings.top_p
        stay[:, :count] = True
        stay &= np.isfinite(falling)
    result = np.zeros(flat.shape, dtype=bool)
    np.put_along_axis(result, order, stay, axis=-1)
    return result.reshape(logits.shape)


def probabilities(
    logits: np.ndarray, settings: SamplerSettings, allowed: np.ndarray | None = None
) -> np.ndarray:
    logits = masked(logits, allowed)
    stay = kept(logits, settings)
    remaining = np.where(stay, logits, -np.inf)
    p = np.exp(_log_weights(remaining, settings.temperature if settings.temperature > 0 else 1.0))
    return p / np.sum(p, axis=-1)[..., np.newaxis]


def sample(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    weights = np.asarray(weights).astype(np.float64)
    uniforms = np.asarray(uniforms).astype(np.float64)
    if weights.shape[:-1] != uniforms.shape or not weights.ndim:
        raise ValueError(f"shapes {weights.shape} and {uniforms.shape}")
    if np.any(np.isnan(uniforms) | (uniforms < 0) | (uniforms >= 1)):
        raise ValueError("numbers outside [0, 1)")
    if np.any(np.max(weights, axis=-1) <= 0):
        raise ValueError("rows without weight")
    cumulative = np.cumsum(weights, axis=-1)
    above = cumulative > uniforms[..., None] * cumulative[..., -1:]
    return np.argmax(above, axis=-1).astype(np.int64)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
