"""Groups as an axis of their own, running sums, and a partition at the last score that is kept."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .cache import Cache
from .prompt import Prompt
from .settings import Settings


def votes(prompt: Prompt, window: int) -> np.ndarray:
    heads, size, width = prompt.keys.shape
    if window > size:
        raise ValueError((window, size))
    queries = prompt.queries.reshape(heads, -1, size, width)[:, :, size - window :].astype(np.float64)
    logits = np.einsum("kgwd,ktd->kgwt", queries, prompt.keys.astype(np.float64)) * width**-0.5
    logits[..., np.triu(np.ones((window, size), dtype=bool), size - window + 1)] = -np.inf
    logits -= logits.max(axis=3, keepdims=True)
    np.exp(logits, out=logits)
    share = 1.0 / logits.sum(axis=3)
    return np.einsum("kgwt,kgw->kgt", logits[..., : size - window], share).reshape(len(prompt.queries), -1 if size > window else 0)


def pool(votes: np.ndarray, settings: Settings) -> np.ndarray:
    votes = np.asarray(votes).astype(np.float64)
    if not votes.size:
        return votes
    average = settings.pooling == "average"
    edge = np.full((*votes.shape[:-1], settings.kernel // 2), 0.0 if average else -np.inf)
    views = sliding_window_view(np.concatenate([edge, votes, edge], axis=-1), settings.kernel, axis=-1)
    return np.average(views, axis=-1) if average else np.max(views, axis=-1)


def select(scores: np.ndarray, count: int) -> np.ndarray:
    scores = np.asarray(scores).astype(np.float64)
    if count < 0 or scores.shape[-1] < count:
        raise ValueError(count)
    if count == 0:
        return np.zeros((*scores.shape[:-1], 0), dtype=np.int64)
    last = -np.partition(-scores, count - 1, axis=-1)[..., count - 1 : count]
    above, equal = scores > last, scores == last
    missing = count - above.sum(axis=-1, keepdims=True)
    chosen = above | (equal & (np.cumsum(equal, axis=-1) <= missing))
    return np.nonzero(chosen)[-1].reshape(*scores.shape[:-1], count)


def compress(prompt: Prompt, settings: Settings) -> Cache:
    heads, size = prompt.keys.shape[:2]
    flags = np.ones((heads, size), dtype=bool)
    if size > settings.capacity:
        pooled = pool(votes(prompt, settings.window), settings)
        grouped = np.add.reduceat(pooled, np.arange(0, len(pooled), prompt.group), axis=0)
        flags[:, : size - settings.window] = False
        np.put_along_axis(flags, select(grouped, settings.capacity - settings.window), True, axis=1)
    rows, places = np.nonzero(flags)
    keys, values = (part[rows, places].reshape(heads, -1, part.shape[2]) for part in (prompt.keys, prompt.values))
    return Cache(keys, values, places.reshape(heads, -1), size)


def hit_rate(weights: np.ndarray, positions: np.ndarray, threshold: float = 0.05) -> float:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape[0] % positions.shape[0]:
        raise ValueError((weights.shape, positions.shape))
    important = weights.reshape(positions.shape[0], len(weights) // len(positions), weights.shape[1]) > threshold
    chosen = (positions[:, :, None] == np.arange(weights.shape[1])).any(axis=1)
    total = np.count_nonzero(important)
    return float(np.count_nonzero(important & chosen[:, None]) / total) if total else 1.0
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
