"""Construction of a vocabulary from the top down."""

from __future__ import annotations

import numpy as np

from .segmentation import segment
from .vocabulary import BYTES, Vocabulary


def count_tokens(corpus: dict[bytes, int], vocabulary: Vocabulary) -> np.ndarray:
    """Return how often each token is used in a corpus, (V,), int64. Raises ValueError for a negative count."""
    if min(corpus.values(), default=0) < 0:
        raise ValueError("a piece cannot occur a negative number of times")
    counts = np.zeros(len(vocabulary), dtype=np.int64)
    for piece, times in corpus.items():
        np.add.at(counts, segment(piece, vocabulary), times)
    return counts


def increases(corpus: dict[bytes, int], vocabulary: Vocabulary) -> np.ndarray:
    """Return by how much the number of tokens of a corpus grows without each token, (V,), int64; -1 for single bytes.

    Raises ValueError for a negative count.
    """
    if min(corpus.values(), default=0) < 0:
        raise ValueError("a piece cannot occur a negative number of times")
    ids, limit = vocabulary.ids(), vocabulary.max_width
    result = np.zeros(len(vocabulary), dtype=np.int64)
    for piece, times in corpus.items():
        size = len(piece)
        before = _fewest(piece, ids, limit)
        after = _fewest(piece[::-1], {token[::-1]: number for token, number in ids.items()}, limit)[::-1]
        start = 0
        for number in segment(piece, vocabulary).tolist():
            end = start + len(vocabulary.tokens[number])
            if end - start > 1:
                inside = min(before[at] + after[at] for at in range(start + 1, end))
                around = min(
                    (
                        before[left] + 1 + after[right]
                        for left in range(max(0, end - limit), start + 1)
                        for right in range(end, min(size, left + limit) + 1)
                        if right - left > end - start and piece[left:right] in ids
                    ),
                    default=inside,
                )
                result[number] += times * (min(inside, around) - before[size])
            start = end
    result[: len(BYTES)] = -1
    return result


def shrink(corpus: dict[bytes, int], vocabulary: Vocabulary, size: int, batch: int) -> Vocabulary:
    """Return a vocabulary of `size` tokens, without those that the corpus needs least, `batch` of them per round.

    Raises ValueError for fewer tokens than there are bytes, and for a batch of none.
    """
    if size < len(BYTES) or batch < 1:
        raise ValueError(f"a vocabulary has {len(BYTES)} tokens or more, and a batch one or more")
    while len(vocabulary) > size:
        grows = increases(corpus, vocabulary).tolist()
        removable = range(len(BYTES), len(vocabulary))
        order = sorted(removable, key=lambda number: (grows[number], -len(vocabulary.tokens[number]), -number))
        removed = set(order[: min(batch, len(vocabulary) - size)])
        kept = [token for number, token in enumerate(vocabulary.tokens) if number not in removed]
        vocabulary = Vocabulary.of(kept, vocabulary.max_width)
    return vocabulary


def _fewest(data: bytes, ids: dict[bytes, int], limit: int) -> list[int]:
    """Return the least number of tokens for the first 0, 1, .. len(data) bytes."""
    fewest = [0]
    for end in range(1, len(data) + 1):
        starts = range(max(0, end - limit), end)
        fewest.append(1 + min(fewest[start] for start in starts if data[start:end] in ids))
    return fewest


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
