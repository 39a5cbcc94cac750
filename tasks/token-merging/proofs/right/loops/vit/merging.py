"""Token by token."""

from __future__ import annotations

import math

import numpy as np

from .matching import Matching


def match(metric, r, protected=1):
    if r < 0:
        raise ValueError("r is negative")
    vectors = [np.array(row, dtype=float) for row in metric]
    count = len(vectors)
    r = min(r, max((count - protected) // 2, 0))
    first, second, pairs = list(range(count)), [], []
    if r > 0:
        second = [b for b in first if b % 2]
        edges = []
        for a in range(0, count, 2):
            if a < protected:
                continue
            best, partner = -math.inf, None
            for b in second:
                if b < protected:
                    continue
                lengths = np.linalg.norm(vectors[a]) * np.linalg.norm(vectors[b])
                similarity = vectors[a] @ vectors[b] / lengths if lengths else 0.0
                if similarity > best:
                    best, partner = similarity, b
            edges.append((best, a, partner))
        edges.sort(key=lambda edge: edge[0], reverse=True)  # stable
        pairs = sorted(edge[1:] for edge in edges[:r])
        merged = {a for a, _ in pairs}
        first = [a for a in range(0, count, 2) if a not in merged]
    arrays = first, second, [a for a, _ in pairs], [b for _, b in pairs]
    return Matching(*(np.array(each, dtype=np.int64) for each in arrays))


def _groups(matching):
    groups = {place: [place] for place in [*matching.first.tolist(), *matching.second.tolist()]}
    for source, destination in zip(matching.sources.tolist(), matching.destinations.tolist()):
        groups[destination].append(source)
    return list(groups.values())


def _check(matching, rows, size=None):
    count = len(matching.first) + len(matching.second) + len(matching.sources)
    if len(rows) != count or (size is not None and np.shape(size) != (count,)):
        raise ValueError("wrong number of tokens")


def merge(matching, x, size):
    _check(matching, x, size)
    x, size = np.array(x, dtype=float), np.array(size, dtype=float)
    groups = _groups(matching)
    tokens = np.array([np.average(x[group], axis=0, weights=size[group]) for group in groups])
    return tokens, np.array([size[group].sum() for group in groups])


def trace(matching, source):
    _check(matching, source)
    return np.array([np.any(source[group], axis=0) for group in _groups(matching)])


def unmerge(matching, y):
    groups = _groups(matching)
    if len(y) != len(groups):
        raise ValueError("wrong number of tokens")
    result = np.empty((sum(map(len, groups)), y.shape[1]))
    for row, group in zip(y, groups):
        result[group] = row
    return result


def attend(queries, keys, values, size):
    heads = []
    for q, k, v in zip(queries, keys, values):
        rows = []
        for query in np.array(q, dtype=float):
            logits = np.array(k, dtype=float) @ query / math.sqrt(k.shape[1]) + np.log(np.array(size, dtype=float))
            weights = np.exp(logits - np.logaddexp.reduce(logits))
            rows.append(weights @ np.array(v, dtype=float))
        heads.append(rows)
    return np.array(heads)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
