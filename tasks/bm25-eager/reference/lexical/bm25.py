"""BM25 with eager scores (Lù, 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .index import Index
from .settings import Settings


def idf(frequencies: np.ndarray, documents: int, settings: Settings) -> np.ndarray:
    """Inverse document frequency of terms that occur in so many of all documents: float64.

    All variants are logarithms of one plus something, which keeps small ones accurate.
    """
    df = np.asarray(frequencies, dtype=np.float64)
    if np.any((df < 0.0) | (df > documents)):
        raise ValueError(f"a term cannot be in more than {documents} documents, or in less than none")
    known = np.maximum(df, 1.0)
    if settings.variant == "robertson":
        excess = np.maximum((documents - 2.0 * known) / (known + 0.5), 0.0)
    elif settings.variant == "atire":
        excess = (documents - known) / known
    elif settings.variant == "bm25+":
        excess = (documents - known + 1.0) / known
    else:
        excess = (documents - known + 0.5) / (known + 0.5)
    return np.where(df > 0.0, np.log1p(excess), 0.0)


def saturation(counts: np.ndarray, relative_lengths: np.ndarray, settings: Settings) -> np.ndarray:
    """The part of a score that depends on the document: float64, of the shape that both arguments broadcast to."""
    counts, relative = np.broadcast_arrays(counts, np.asarray(relative_lengths, dtype=np.float64))
    occurs = counts > 0
    tf = np.where(occurs, counts, 1.0)
    norm = np.where(occurs, 1.0 - settings.b + settings.b * relative, 1.0)
    k1, delta = settings.k1, settings.delta
    if settings.variant == "bm25l":
        shifted = tf / norm + delta
        absent = (k1 + 1.0) * delta / (k1 + delta) if delta > 0.0 else 0.0
        return np.where(occurs, (k1 + 1.0) * shifted / (k1 + shifted), absent)
    share = np.where(occurs, tf / (tf + k1 * norm), 0.0)
    if settings.variant == "bm25+":
        return (k1 + 1.0) * share + delta
    return (k1 + 1.0) * share if settings.variant == "atire" else share


def build(documents: Sequence[Sequence[int]], size: int, settings: Settings) -> Index:
    """The index of documents, each of which is a sequence of terms 0 .. size - 1."""
    total = len(documents)
    lengths = np.array([len(document) for document in documents], dtype=np.int64)
    tokens = np.array([term for document in documents for term in document], dtype=np.int64)
    if np.any((tokens < 0) | (tokens >= size)):
        raise ValueError(f"the terms of documents must be in 0..{size - 1}")
    places = tokens * total + np.repeat(np.arange(total), lengths)
    places, counts = np.unique(places, return_counts=True)
    terms, owners = np.divmod(places, total)  # no places, no division
    frequencies = np.bincount(terms, minlength=size)
    weights = idf(frequencies, total, settings)
    absent = saturation(0, 1.0, settings)
    relative = lengths[owners] * total / len(tokens)
    return Index(
        data=weights[terms] * (saturation(counts, relative, settings) - absent),
        indices=owners,
        indptr=np.concatenate([[0], np.cumsum(frequencies)]),
        nonoccurrence=weights * absent,
        documents=total,
    )


def score(index: Index, query: Sequence[int]) -> np.ndarray:
    """The scores `(N,)` float64 of all documents for a query."""
    scores = np.zeros(index.documents)
    for term in query:
        if 0 <= term < len(index.nonoccurrence):
            owners, stored = index.column(term)
            scores += index.nonoccurrence[term]
            scores[owners] += stored
    return scores


def top(scores: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and scores of the k best documents, the best first."""
    scores = np.asarray(scores, dtype=np.float64)
    if k < 0:
        raise ValueError(f"k must not be negative, not {k}")
    order = np.argsort(-scores, kind="stable")
    if allowed is not None:
        order = order[np.asarray(allowed, dtype=bool)[order]]
    return order[:k], scores[order[:k]]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
