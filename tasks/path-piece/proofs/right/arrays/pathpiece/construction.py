"""Construction of a vocabulary with arrays."""

from __future__ import annotations

import numpy as np

from .segmentation import lengths, segment, table
from .vocabulary import Vocabulary


def count_tokens(corpus: dict[bytes, int], vocabulary: Vocabulary) -> np.ndarray:
    """How often each token is used."""
    if any(times < 0 for times in corpus.values()):
        raise ValueError("negative count")
    total = np.zeros(len(vocabulary), dtype=np.int64)
    for piece, times in corpus.items():
        total += times * np.bincount(segment(piece, vocabulary), minlength=len(vocabulary))
    return total


def increases(corpus: dict[bytes, int], vocabulary: Vocabulary) -> np.ndarray:
    """What each token saves."""
    if any(times < 0 for times in corpus.values()):
        raise ValueError("negative count")
    turned = Vocabulary(tuple(token[::-1] for token in vocabulary.tokens), vocabulary.max_width)
    total = np.zeros(len(vocabulary), dtype=np.int64)
    widths = np.array([len(token) for token in vocabulary.tokens])
    for piece, times in corpus.items():
        found = table(piece, vocabulary)
        before, after = lengths(found), lengths(table(piece[::-1], turned))[::-1]
        size = len(piece)
        ids = segment(piece, vocabulary)
        ends = np.cumsum(widths[ids])
        for number, end in zip(ids, ends, strict=True):
            start = end - widths[number]
            if end - start == 1:
                continue
            detour = (before + after)[start + 1 : end].min()
            for right in range(end, min(size, start + vocabulary.max_width) + 1):
                wide = np.flatnonzero(found[right] >= 0)
                wide = wide[(wide >= right - start) & (wide > end - start)]
                if len(wide):
                    detour = min(detour, before[right - wide].min() + 1 + after[right])
            total[number] += times * (detour - before[-1])
    total[widths == 1] = -1
    return total


def shrink(corpus: dict[bytes, int], vocabulary: Vocabulary, size: int, batch: int) -> Vocabulary:
    """Remove the least useful tokens, round by round."""
    if batch < 1 or size < 256:
        raise ValueError("too small")
    excess = len(vocabulary) - size
    while excess > 0:
        widths = np.array([len(token) for token in vocabulary.tokens])
        numbers = np.arange(len(vocabulary))
        ranked = np.lexsort((-numbers, -widths, increases(corpus, vocabulary)))
        gone = set(ranked[widths[ranked] > 1][: min(excess, batch)].tolist())
        vocabulary = Vocabulary.of(
            [token for number, token in enumerate(vocabulary.tokens) if number not in gone], vocabulary.max_width
        )
        excess = len(vocabulary) - size
    return vocabulary


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
