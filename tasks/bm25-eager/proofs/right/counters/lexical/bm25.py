"""BM25 with eager scores, term by term."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np

from .index import Index


def _weight(df, total, variant):
    if not 0 <= df <= total:
        raise ValueError(f"{df} of {total} documents")
    if df == 0:
        return 0.0
    if variant == "robertson":
        above = (total - df + 0.5) - (df + 0.5)
        return math.log1p(above / (df + 0.5)) if above > 0 else 0.0
    numerator, denominator = {
        "lucene": (total - df + 0.5, df + 0.5),
        "atire": (total - df, df),
        "bm25l": (total + 1 - df - 0.5, df + 0.5),
        "bm25+": (total + 1 - df, df),
    }[variant]
    return math.log1p(numerator / denominator)


def idf(frequencies, documents, settings):
    frequencies = np.asarray(frequencies)
    flat = [_weight(float(df), documents, settings.variant) for df in frequencies.ravel()]
    return np.array(flat, dtype=float).reshape(frequencies.shape)


def _part(tf, relative, settings):
    k1, delta = settings.k1, settings.delta
    if tf == 0:
        absent = {"bm25l": (k1 + 1) * delta / (k1 + delta) if delta else 0.0, "bm25+": delta}
        return absent.get(settings.variant, 0.0)
    norm = 1 - settings.b + settings.b * relative
    if settings.variant == "bm25l":
        c = tf / norm + delta
        return (k1 + 1) * c / (k1 + c)
    value = tf / (tf + k1 * norm)
    if settings.variant in ("atire", "bm25+"):
        value *= k1 + 1
    return value + (delta if settings.variant == "bm25+" else 0)


def saturation(counts, relative_lengths, settings):
    both = np.broadcast(np.asarray(counts, dtype=float), np.asarray(relative_lengths, dtype=float))
    return np.array([_part(tf, relative, settings) for tf, relative in both], dtype=float).reshape(both.shape)


def build(documents, size, settings):
    postings = defaultdict(list)
    words = 0
    for number, document in enumerate(documents):
        words += len(document)
        for term, tf in Counter(int(term) for term in document).items():
            if term < 0 or term >= size:
                raise ValueError(f"no term {term}")
            postings[term].append((number, tf))
    data, indices, indptr, base = [], [], [0], []
    for term in range(size):
        weight = _weight(len(postings[term]), len(documents), settings.variant)
        absent = _part(0, 1.0, settings)
        base.append(weight * absent)
        for number, tf in postings[term]:
            relative = len(documents[number]) * len(documents) / words
            data.append(weight * (_part(tf, relative, settings) - absent))
            indices.append(number)
        indptr.append(len(data))
    return Index(
        np.array(data, dtype=float),
        np.array(indices, dtype=np.int64),
        np.array(indptr, dtype=np.int64),
        np.array(base, dtype=float),
        len(documents),
    )


def score(index, query):
    size = len(index.indptr) - 1
    terms = Counter(int(term) for term in query)
    known = {term: count for term, count in terms.items() if term in range(size)}
    scores = np.full(index.documents, sum(index.nonoccurrence[term] * count for term, count in known.items()), dtype=float)
    for term, count in known.items():
        for number, value in zip(*index.column(term), strict=True):
            scores[number] += count * value
    return scores


def top(scores, k, allowed=None):
    if k < 0:
        raise ValueError("k is negative")
    scores = [float(value) for value in scores]
    numbers = [n for n in range(len(scores)) if allowed is None or allowed[n]]
    numbers = sorted(numbers, key=lambda n: scores[n], reverse=True)[:k]
    return np.array(numbers, dtype=np.int64), np.array([scores[n] for n in numbers], dtype=float)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
