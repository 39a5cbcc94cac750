"""SnapKV (Li et al., NeurIPS 2024)."""

from __future__ import annotations

import numpy as np

from .cache import Cache
from .prompt import Prompt
from .settings import Settings


def votes(prompt: Prompt, window: int) -> np.ndarray:
    """Attention that the window gives to each position of the prefix, (H, T - window)."""
    prefix = len(prompt) - window
    if prefix < 0:
        raise ValueError(f"a prompt of {len(prompt)} tokens has no window of {window}")
    queries = prompt.queries[:, prefix:].astype(np.float64)
    keys = np.repeat(prompt.keys.astype(np.float64), prompt.group, axis=0)
    logits = queries @ keys.transpose(0, 2, 1) / np.sqrt(queries.shape[-1])
    later = np.arange(len(prompt)) > np.arange(prefix, len(prompt))[:, None]
    logits = np.where(later, -np.inf, logits)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)  # keys of the window are part of the sum
    return weights[:, :, :prefix].sum(axis=1)


def pool(votes: np.ndarray, settings: Settings) -> np.ndarray:
    """Votes pooled over their neighbours, same shape."""
    votes = np.asarray(votes, dtype=np.float64)
    reach, size = settings.kernel // 2, votes.shape[-1]
    outside = 0.0 if settings.pooling == "average" else -np.inf
    padded = np.pad(votes, [(0, 0)] * (votes.ndim - 1) + [(reach, reach)], constant_values=outside)
    neighbours = np.stack([padded[..., shift : shift + size] for shift in range(settings.kernel)])
    return neighbours.mean(axis=0) if settings.pooling == "average" else neighbours.max(axis=0)


def select(scores: np.ndarray, count: int) -> np.ndarray:
    """Positions of the largest scores of each row, in increasing order, (..., count)."""
    scores = np.asarray(scores, dtype=np.float64)
    if not 0 <= count <= scores.shape[-1]:
        raise ValueError(f"cannot select {count} of {scores.shape[-1]} positions")
    ranking = np.argsort(-scores, kind="stable")  # stable: the lower position first among equals
    return np.sort(ranking[..., :count])


def compress(prompt: Prompt, settings: Settings) -> Cache:
    """The cache of a prompt, with at most `capacity` entries for each key-value head."""
    heads, size = len(prompt.keys), len(prompt)
    positions = np.tile(np.arange(size), (heads, 1))
    if size > settings.capacity:
        pooled = pool(votes(prompt, settings.window), settings)
        scores = pooled.reshape(heads, prompt.group, *pooled.shape[1:]).sum(axis=1)
        kept = select(scores, settings.capacity - settings.window)
        positions = np.concatenate([kept, positions[:, size - settings.window :]], axis=1)
    return Cache(
        keys=np.take_along_axis(prompt.keys, positions[:, :, None], axis=1),
        values=np.take_along_axis(prompt.values, positions[:, :, None], axis=1),
        positions=positions,
        length=size,
    )


def hit_rate(weights: np.ndarray, positions: np.ndarray, threshold: float = 0.05) -> float:
    """Share of the important weights whose positions were selected."""
    if len(weights) % len(positions):
        raise ValueError(f"{len(weights)} query heads do not share {len(positions)} key-value heads")
    important = weights.astype(np.float64) > threshold
    if not important.any():
        return 1.0
    selected = np.zeros((len(positions), weights.shape[1]), dtype=bool)
    for head, chosen in enumerate(positions):
        selected[head, chosen[chosen < weights.shape[1]]] = True
    hits = important & np.repeat(selected, len(weights) // len(positions), axis=0)
    return float(hits.sum() / important.sum())


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
