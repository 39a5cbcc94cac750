"""One matrix with a row for each token after merging says who belongs to it."""

from __future__ import annotations

import numpy as np

from .matching import Matching


def match(metric: np.ndarray, r: int, protected: int = 1) -> Matching:
    if r < 0:
        raise ValueError(r)
    count = np.shape(metric)[0]
    r = int(np.clip((count - protected) // 2, 0, r))
    everything = np.arange(count, dtype=np.int64)
    if not r:
        return Matching(everything, everything[:0], everything[:0], everything[:0])
    vectors = np.asarray(metric).astype(np.float64)
    lengths = np.sqrt(np.einsum("tc,tc->t", vectors, vectors))
    lengths[lengths == 0.0] = np.inf
    vectors = vectors / lengths[:, None]
    even, odd = everything[::2], everything[1::2]
    even, odd = even[even >= protected], odd[odd >= protected]
    table = np.einsum("ac,bc->ab", vectors[even], vectors[odd])
    ranking = np.lexsort((even, -table.max(axis=1)))[:r]
    sources = np.sort(even[ranking])
    destinations = odd[table[np.searchsorted(even, sources)].argmax(axis=1)]
    return Matching(np.setdiff1d(everything[::2], sources), everything[1::2], sources, destinations)


def _membership(matching: Matching) -> np.ndarray:
    order = np.concatenate([matching.first, matching.second])
    table = order[:, None] == np.arange(matching.before)
    table[np.searchsorted(matching.second, matching.destinations) + len(matching.first), matching.sources] = True
    return table


def merge(matching: Matching, x: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    table, size = _membership(matching).astype(np.float64), np.asarray(size, dtype=np.float64)
    if np.shape(size) != table.shape[1:] or np.shape(x)[0] != len(size):
        raise ValueError((np.shape(x), np.shape(size)))
    weights = table * size
    total = weights.sum(axis=1)
    return weights @ np.asarray(x, dtype=np.float64) / total[:, None], total


def trace(matching: Matching, source: np.ndarray) -> np.ndarray:
    table = _membership(matching)
    if table.shape[1] != len(source):
        raise ValueError(np.shape(source))
    return table.astype(np.int64) @ np.asarray(source).astype(np.int64) > 0


def unmerge(matching: Matching, y: np.ndarray) -> np.ndarray:
    table = _membership(matching)
    if len(table) != len(y):
        raise ValueError(np.shape(y))
    return np.asarray(y).astype(np.float64)[table.argmax(axis=0)]


def attend(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, size: np.ndarray) -> np.ndarray:
    queries, keys, values = (np.asarray(each).astype(np.float64) for each in (queries, keys, values))
    logits = np.einsum("hqd,hkd->hqk", queries, keys) * keys.shape[2] ** -0.5
    weights = np.asarray(size).astype(np.float64) * np.exp(logits - logits.max(axis=2, keepdims=True))
    return np.einsum("hqk,hke->hqe", weights / weights.sum(axis=2, keepdims=True), values)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
