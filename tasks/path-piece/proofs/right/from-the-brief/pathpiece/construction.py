"""Construction of a vocabulary from the top down."""

from __future__ import annotations

import numpy as np

from .segmentation import forward, spans, widths_of
from .vocabulary import BYTES, Vocabulary


def _pieces(corpus: dict[bytes, int]) -> list[tuple[bytes, int]]:
    """Return the pieces that occur, with their counts."""
    if any(count < 0 for count in corpus.values()):
        raise ValueError("no piece can occur less than 0 times")
    return [(piece, int(count)) for piece, count in corpus.items() if count]


def count_tokens(corpus: dict[bytes, int], vocabulary: Vocabulary) -> np.ndarray:
    """Return how often each token is used in a corpus, (V,)."""
    ids = vocabulary.ids()
    widths = widths_of(ids)
    used = np.zeros(len(vocabulary), dtype=np.int64)
    for piece, count in _pieces(corpus):
        _, last = forward(piece, ids, widths)
        for start, end in spans(last):
            used[ids[piece[start:end]]] += count
    return used


def _detours(piece: bytes, ids: dict[bytes, int], widths: list[int]) -> list[tuple[int, int]]:
    """Return id and increase (3) of each occurrence of a token of more than one byte."""
    size = len(piece)
    before, last = forward(piece, ids, widths)
    occurrences = [(start, end) for start, end in spans(last) if end - start > 1]
    if not occurrences:
        return []
    ends: list[list[int]] = [[] for _ in range(size)]  # where the tokens end that begin at each place, ascending
    after = [0] * (size + 1)
    for start in range(size - 1, -1, -1):
        ends[start] = [
            start + width for width in widths if start + width <= size and piece[start : start + width] in ids
        ]
        after[start] = 1 + min(after[end] for end in ends[start])
    found = []
    for start, end in occurrences:
        detour = min(before[middle] + after[middle] for middle in range(start + 1, end))
        for begin in range(max(0, end - widths[-1]), start + 1):
            for finish in reversed(ends[begin]):
                if finish < end or finish - begin == end - start:  # the latter is the occurrence itself
                    break
                detour = min(detour, before[begin] + 1 + after[finish])
        found.append((ids[piece[start:end]], detour - before[size]))
    return found


def increases(corpus: dict[bytes, int], vocabulary: Vocabulary) -> np.ndarray:
    """Return by how much the number of tokens of a corpus grows without each token, (V,)."""
    ids = vocabulary.ids()
    widths = widths_of(ids)
    grown = np.zeros(len(vocabulary), dtype=np.int64)
    for piece, count in _pieces(corpus):
        for token, increase in _detours(piece, ids, widths):
            grown[token] += count * increase
    grown[: len(BYTES)] = -1
    return grown


def shrink(corpus: dict[bytes, int], vocabulary: Vocabulary, size: int, batch: int) -> Vocabulary:
    """Return a vocabulary of `size` tokens, without those that the corpus needs least."""
    if size < len(BYTES) or batch < 1:
        raise ValueError(f"size is at least {len(BYTES)} and batch at least 1, not {size} and {batch}")
    while len(vocabulary) > size:
        grown = increases(corpus, vocabulary).tolist()
        order = sorted(
            range(len(BYTES), len(vocabulary)), key=lambda index: (grown[index], -len(vocabulary.tokens[index]), -index)
        )
        gone = set(order[: min(batch, len(vocabulary) - size)])
        left = [token for index, token in enumerate(vocabulary.tokens) if index not in gone]
        vocabulary = Vocabulary.of(left, vocabulary.max_width)
    return vocabulary


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
