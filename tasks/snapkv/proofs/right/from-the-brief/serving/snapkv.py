"""SnapKV (Li et al., NeurIPS 2024)."""

from __future__ import annotations

import numpy as np

from .cache import Cache
from .prompt import Prompt
from .settings import Settings


def votes(prompt: Prompt, window: int) -> np.ndarray:
    """Attention that the window gives to each position of the prefix, (H, T - window)."""
    length = len(prompt)
    if length < window:
        raise ValueError(f"a prompt of {length} tokens is shorter than the window of {window}")
    prefix = length - window
    queries = np.asarray(prompt.queries[:, prefix:], dtype=np.float64)
    keys = np.asarray(prompt.keys, dtype=np.float64)
    heads, _, width = queries.shape
    if prefix == 0 or window == 0:
        return np.zeros((heads, prefix))
    grouped = queries.reshape(len(keys), prompt.group, window, width)
    logits = np.einsum("kgid,kjd->kgij", grouped, keys) / np.sqrt(width)
    seen = np.arange(length) <= np.arange(prefix, length)[:, None]
    logits = np.where(seen, logits, -np.inf)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights[..., :prefix].sum(axis=2).reshape(heads, prefix)


def pool(votes: np.ndarray, settings: Settings) -> np.ndarray:
    """Votes pooled over their neighbours, same shape."""
    votes = np.asarray(votes, dtype=np.float64)
    size = votes.shape[-1]
    if size == 0:
        return votes.copy()
    reach = min(settings.kernel // 2, size - 1)
    combine, beyond = (np.maximum, -np.inf) if settings.pooling == "max" else (np.add, 0.0)
    pad = np.full((*votes.shape[:-1], reach), beyond)
    padded = np.concatenate([pad, votes, pad], axis=-1)
    pooled = padded[..., :size].copy()
    for shift in range(1, 2 * reach + 1):
        combine(pooled, padded[..., shift : shift + size], out=pooled)
    return pooled / settings.kernel if settings.pooling == "average" else pooled


def select(scores: np.ndarray, count: int) -> np.ndarray:
    """Positions of the largest scores of each row, in increasing order, (..., count)."""
    scores = np.asarray(scores)
    size = scores.shape[-1]
    if not 0 <= count <= size:
        raise ValueError(f"cannot select {count} of {size} positions")
    # backwards, so that the last of equal scores in the sorted order is the one at the lowest position
    order = np.argsort(scores[..., ::-1], axis=-1, kind="stable")[..., size - count :]
    return np.sort(size - 1 - order, axis=-1).astype(np.int64)


def compress(prompt: Prompt, settings: Settings) -> Cache:
    """The cache of a prompt, with at most `capacity` entries for each key-value head."""
    length, heads = len(prompt), len(prompt.keys)
    if length <= settings.capacity:
        positions = np.tile(np.arange(length, dtype=np.int64), (heads, 1))
    else:
        pooled = pool(votes(prompt, settings.window), settings)
        scores = pooled.reshape(heads, prompt.group, -1).sum(axis=1)
        chosen = select(scores, settings.capacity - settings.window)
        window = np.tile(np.arange(length - settings.window, length, dtype=np.int64), (heads, 1))
        positions = np.concatenate([chosen, window], axis=1)
    return Cache(
        np.take_along_axis(prompt.keys, positions[..., None], axis=1),
        np.take_along_axis(prompt.values, positions[..., None], axis=1),
        positions,
        length,
    )


def hit_rate(weights: np.ndarray, positions: np.ndarray, threshold: float = 0.05) -> float:
    """Share of the important weights whose positions were selected."""
    weights = np.asarray(weights, dtype=np.float64)
    positions = np.asarray(positions).astype(np.int64)
    if len(positions) == 0 or len(weights) % len(positions):
        raise ValueError(f"{len(weights)} query heads cannot share {len(positions)} key-value heads")
    size = weights.shape[1]
    selected = np.zeros((len(positions), size), dtype=bool)
    rows, columns = np.nonzero(positions < size)
    selected[rows, positions[rows, columns]] = True
    important = weights > threshold
    total = int(important.sum())
    if total == 0:
        return 1.0
    hits = important & np.repeat(selected, len(weights) // len(positions), axis=0)
    return int(hits.sum()) / total


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
