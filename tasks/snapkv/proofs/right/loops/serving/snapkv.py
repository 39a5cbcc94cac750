"""Head by head and token by token."""

from __future__ import annotations

import heapq
import math

import numpy as np

from .cache import Cache


def votes(prompt, window):
    total = len(prompt)
    if total < window:
        raise ValueError("the prompt is shorter than the window")
    result = np.zeros((prompt.queries.shape[0], total - window))
    for head in range(prompt.queries.shape[0]):
        keys = np.array(prompt.keys[head // prompt.group], dtype=float)
        queries = np.array(prompt.queries[head], dtype=float)
        for place in range(total - window, total):
            logits = keys[: place + 1] @ queries[place] / math.sqrt(keys.shape[1])
            log_total = np.logaddexp.reduce(logits)
            result[head] += np.exp(logits[: total - window] - log_total)
    return result


def pool(votes, settings):
    votes = np.array(votes, dtype=float)
    result = np.empty_like(votes)
    reach = (settings.kernel - 1) // 2
    for place in range(votes.shape[-1]):
        near = votes[..., max(place - reach, 0) : place + reach + 1]
        if settings.pooling == "max":
            result[..., place] = near.max(axis=-1)
        else:
            result[..., place] = near.sum(axis=-1) / settings.kernel
    return result


def select(scores, count):
    scores = np.asarray(scores)
    size = scores.shape[-1]
    if count < 0 or count > size:
        raise ValueError("wrong count")
    result = np.empty((*scores.shape[:-1], count), dtype=np.int64)
    for place in np.ndindex(scores.shape[:-1]):
        row = scores[place].tolist()
        result[place] = sorted(heapq.nsmallest(count, range(size), key=lambda j: (-row[j], j)))
    return result


def compress(prompt, settings):
    total, heads = len(prompt), prompt.keys.shape[0]
    rows = [list(range(total)) for _ in range(heads)]
    if total > settings.capacity:
        pooled = pool(votes(prompt, settings.window), settings)
        for head in range(heads):
            mine = pooled[head * prompt.group : (head + 1) * prompt.group]
            chosen = select(sum(mine), settings.capacity - settings.window).tolist()
            rows[head] = chosen + rows[head][total - settings.window :]
    return Cache(
        np.array([prompt.keys[head][rows[head]] for head in range(heads)]),
        np.array([prompt.values[head][rows[head]] for head in range(heads)]),
        np.array(rows, dtype=np.int64),
        total,
    )


def hit_rate(weights, positions, threshold=0.05):
    if len(weights) % len(positions) != 0:
        raise ValueError("heads cannot be grouped")
    group = len(weights) // len(positions)
    hits = important = 0
    for head, row in enumerate(np.asarray(weights).tolist()):
        chosen = set(np.asarray(positions[head // group]).tolist())
        for place, weight in enumerate(row):
            if weight > threshold:
                important += 1
                hits += place in chosen
    return hits / important if important else 1.0
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
