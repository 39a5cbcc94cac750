"""BM25 with eager scores (Lù, 2024)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from .index import Index
from .settings import Settings


def idf(frequencies: np.ndarray, documents: int, settings: Settings) -> np.ndarray:
    """Inverse document frequency of terms that occur in so many of all documents: float64."""
    df = np.asarray(frequencies, dtype=np.float64)
    total = float(documents)
    if not np.all((df >= 0.0) & (df <= total)):
        raise ValueError(f"a term must be in 0 .. {documents} documents")
    some = np.where(df > 0.0, df, 1.0)
    # each logarithm as log1p of (numerator - denominator) / denominator
    if settings.variant == "robertson":
        found = np.maximum(np.log1p(np.maximum(total - 2.0 * some, 0.0) / (some + 0.5)), 0.0)
    elif settings.variant in ("lucene", "bm25l"):
        found = np.log1p((total - some + 0.5) / (some + 0.5))
    elif settings.variant == "atire":
        found = np.log1p((total - some) / some) if total > 0.0 else np.zeros(df.shape)
    else:
        found = np.log1p((total + 1.0 - some) / some)
    return np.where(df > 0.0, found, 0.0)


def saturation(counts: np.ndarray, relative_lengths: np.ndarray, settings: Settings) -> np.ndarray:
    """The part of a score that depends on the document: float64, of the shape that both arguments broadcast to."""
    tf, relative = np.broadcast_arrays(
        np.asarray(counts, dtype=np.float64), np.asarray(relative_lengths, dtype=np.float64)
    )
    k1, b, delta = settings.k1, settings.b, settings.delta
    norm = 1.0 - b + b * relative
    present = tf > 0.0
    some = np.where(present, tf, 1.0)
    absent = 0.0
    if settings.variant in ("robertson", "lucene"):
        found = some / (some + k1 * norm)
    elif settings.variant == "atire":
        found = (k1 + 1.0) * some / (some + k1 * norm)
    elif settings.variant == "bm25l":
        # numerator and denominator times n, which may be 0
        found = (k1 + 1.0) * (some + delta * norm) / (some + (k1 + delta) * norm)
        if delta > 0.0:
            absent = (k1 + 1.0) * delta / (k1 + delta)
    else:
        found = (k1 + 1.0) * some / (some + k1 * norm) + delta
        absent = delta
    return np.where(present, found, absent)


def build(documents: Sequence[Sequence[int]], size: int, settings: Settings) -> Index:
    """The index of documents, each of which is a sequence of terms 0 .. size - 1."""
    terms, places, counts, lengths = [], [], [], []
    for place, document in enumerate(documents):
        document = np.asarray(document)
        if document.size and (document.min() < 0 or document.max() >= size):
            raise ValueError(f"document {place} has a term that is not in 0 .. {size - 1}")
        found, repeated = np.unique(document.astype(np.int64), return_counts=True)
        terms.append(found)
        counts.append(repeated)
        places.append(np.full(len(found), place, dtype=np.int64))
        lengths.append(document.size)
    total = len(lengths)
    empty = [np.zeros(0, dtype=np.int64)]
    terms, places, counts = (np.concatenate(parts + empty) for parts in (terms, places, counts))
    order = np.argsort(terms, kind="stable")
    terms, places, counts = terms[order], places[order], counts[order]

    frequencies = np.bincount(terms, minlength=size)
    weights = idf(frequencies, total, settings)
    absent = saturation(0.0, 1.0, settings)
    lengths = np.array(lengths, dtype=np.float64)
    relative = lengths[places] / (lengths.mean() if len(terms) else 1.0)
    data = weights[terms] * (saturation(counts, relative, settings) - absent)
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(frequencies, dtype=np.int64)])
    return Index(data, places, indptr, weights * absent, total)


def score(index: Index, query: Sequence[int]) -> np.ndarray:
    """The scores `(N,)` float64 of all documents for a query."""
    scores, shift = np.zeros(index.documents), 0.0
    for term, times in Counter(int(term) for term in query).items():
        if 0 <= term < len(index.nonoccurrence):
            places, values = index.column(term)
            scores[places] += times * values
            shift += times * float(index.nonoccurrence[term])
    return scores + shift


def top(scores: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and scores of the k best documents, the best first."""
    if k < 0:
        raise ValueError(f"k must not be negative, not {k}")
    scores = np.asarray(scores, dtype=np.float64)
    numbers = np.arange(len(scores)) if allowed is None else np.flatnonzero(np.asarray(allowed, dtype=bool))
    best = numbers[np.argsort(-scores[numbers], kind="stable")[:k]].astype(np.int64)
    return best, scores[best]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
