"""BM25 with eager scores, by way of the matrix of counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .index import Index
from .settings import Settings

# What is added to N - df, and to df, in log1p of their quotient.
_SHIFTS = {"lucene": (0.5, 0.5), "bm25l": (0.5, 0.5), "atire": (0.0, 0.0), "bm25+": (1.0, 0.0)}


def idf(frequencies: np.ndarray, documents: int, settings: Settings) -> np.ndarray:
    df = np.asarray(frequencies).astype(np.float64)
    if df.size and (df.min() < 0 or df.max() > documents):
        raise ValueError("document frequencies out of range")
    result = np.zeros(df.shape)
    here = df > 0
    if settings.variant == "robertson":
        gain = (documents - 2 * df[here]) / (df[here] + 0.5)
        result[here] = np.log1p(np.where(gain > 0, gain, 0))
    else:
        above, below = _SHIFTS[settings.variant]
        result[here] = np.log1p((documents - df[here] + above) / (df[here] + below))
    return result


def saturation(counts: np.ndarray, relative_lengths: np.ndarray, settings: Settings) -> np.ndarray:
    counts = np.asarray(counts, dtype=np.float64)
    relative = np.asarray(relative_lengths, dtype=np.float64)
    tf, relative = counts + 0 * relative, relative + 0 * counts
    k1, b, delta = settings.k1, settings.b, settings.delta
    result = np.zeros(tf.shape)
    here = tf > 0
    norm = (1 - b) + b * relative[here]
    if settings.variant == "bm25l":
        result[...] = (k1 + 1) / (k1 / delta + 1) if delta else 0
        result[here] = (k1 + 1) / (k1 / (tf[here] / norm + delta) + 1)
        return result
    result[here] = 1 / (1 + k1 * norm / tf[here])
    if settings.variant in ("atire", "bm25+"):
        result *= k1 + 1
    if settings.variant == "bm25+":
        result += delta
    return result


def build(documents: Sequence[Sequence[int]], size: int, settings: Settings) -> Index:
    matrix = np.zeros((len(documents), size), dtype=np.int64)
    for row, document in zip(matrix, documents, strict=True):
        terms = np.asarray(document, dtype=np.int64)
        if np.any(terms < 0) or np.any(terms >= size):
            raise ValueError("unknown term")
        np.add.at(row, terms, 1)
    lengths = matrix.sum(axis=1, keepdims=True)
    mean = lengths.mean() if matrix.any() else 1.0
    occurs = matrix > 0
    weights = idf(occurs.sum(axis=0), len(documents), settings)
    zero = saturation(0, 0.0, settings)
    stored = weights * (saturation(matrix, lengths / mean, settings) - zero)
    owners = [np.flatnonzero(column) for column in occurs.T]
    empty = np.zeros(0, dtype=np.int64)
    return Index(
        data=stored.T[occurs.T],
        indices=np.concatenate([empty, *owners]),
        indptr=np.append(0, np.cumsum(occurs.sum(axis=0))).astype(np.int64),
        nonoccurrence=weights * zero,
        documents=len(documents),
    )


def score(index: Index, query: Sequence[int]) -> np.ndarray:
    query = np.asarray(query, dtype=np.int64)
    size = len(index.nonoccurrence)
    query = query[(query >= 0) & (query < size)]
    times = np.bincount(query, minlength=size)
    weights = index.data * np.repeat(times, np.diff(index.indptr))
    sums = np.bincount(index.indices, weights=weights, minlength=index.documents)
    return sums.astype(np.float64) + times @ index.nonoccurrence


def top(scores: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    if k < 0:
        raise ValueError(f"{k} documents")
    scores = np.asarray(scores, dtype=np.float64)
    numbers = np.arange(len(scores)) if allowed is None else np.flatnonzero(np.asarray(allowed))
    order = np.lexsort((numbers, -scores[numbers]))
    best = numbers[order][:k].astype(np.int64)
    return best, scores[best]
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
