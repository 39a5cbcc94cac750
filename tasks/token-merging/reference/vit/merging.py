"""Token merging (Bolya et al., ICLR 2023)."""

from __future__ import annotations

import numpy as np

from .matching import Matching


def _rows(matching: Matching) -> np.ndarray:
    """For each token before merging, the row of the token it becomes part of."""
    order = np.concatenate([matching.first, matching.second])
    rows = np.empty(matching.before, dtype=np.int64)
    rows[order] = np.arange(len(order))
    rows[matching.sources] = rows[matching.destinations]
    return rows


def match(metric: np.ndarray, r: int, protected: int = 1) -> Matching:
    """The r tokens that are merged, and into which others."""
    if r < 0:
        raise ValueError(f"cannot merge {r} tokens")
    metric = np.asarray(metric, dtype=np.float64)
    count = len(metric)
    r = min(r, (count - protected) // 2)
    if r <= 0:
        none = np.zeros(0, dtype=np.int64)
        return Matching(np.arange(count), none, none, none)
    length = np.linalg.norm(metric, axis=1, keepdims=True)
    unit = metric / np.where(length > 0.0, length, 1.0)
    left, right = np.arange(0, count, 2), np.arange(1, count, 2)
    similarity = unit[left] @ unit[right].T
    similarity[:, right < protected] = -np.inf
    best = similarity.argmax(axis=1)
    edges = np.where(left < protected, -np.inf, similarity.max(axis=1))
    merged = np.sort(np.argsort(-edges, kind="stable")[:r])
    return Matching(np.delete(left, merged), right, left[merged], right[best[merged]])


def merge(matching: Matching, x: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and sizes after merging, equation (2)."""
    if len(x) != matching.before or size.shape != (matching.before,):
        raise ValueError(f"tokens {x.shape} and sizes {size.shape} are not {matching.before} tokens")
    rows = _rows(matching)
    tokens, sizes = np.zeros((matching.after, x.shape[1])), np.zeros(matching.after)
    np.add.at(tokens, rows, np.multiply(size[:, None], x, dtype=np.float64))
    np.add.at(sizes, rows, size)
    return tokens / sizes[:, None], sizes


def trace(matching: Matching, source: np.ndarray) -> np.ndarray:
    """The source matrix after merging."""
    if len(source) != matching.before:
        raise ValueError(f"{len(source)} rows are not those of {matching.before} tokens")
    merged = np.zeros((matching.after, source.shape[1]), dtype=bool)
    np.logical_or.at(merged, _rows(matching), source)
    return merged


def unmerge(matching: Matching, y: np.ndarray) -> np.ndarray:
    """A row for each token before merging."""
    y = np.asarray(y, dtype=np.float64)
    if len(y) != matching.after:
        raise ValueError(f"{len(y)} rows are not those of {matching.after} tokens")
    return y[_rows(matching)]


def attend(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Proportional attention, equation (3)."""
    queries, keys, values, size = (np.asarray(each, dtype=np.float64) for each in (queries, keys, values, size))
    logits = queries @ keys.transpose(0, 2, 1) / np.sqrt(keys.shape[2]) + np.log(size)
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    return weights @ values / weights.sum(axis=2, keepdims=True)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
