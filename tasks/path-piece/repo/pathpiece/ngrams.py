"""The vocabulary from which construction starts."""

from __future__ import annotations

from collections import Counter

from .vocabulary import Vocabulary


def frequent(corpus: dict[bytes, int], count: int, max_width: int = 16) -> Vocabulary:
    """Return the single bytes and the `count` most frequent n-grams of 2 to `max_width` bytes within the pieces of a corpus.

    Every position counts, overlapping ones too. Of equally frequent n-grams, the smallest ones are taken.
    """
    found: Counter[bytes] = Counter()
    for piece, times in corpus.items():
        for start in range(len(piece)):
            for end in range(start + 2, min(start + max_width, len(piece)) + 1):
                found[piece[start:end]] += times
    return Vocabulary.of(sorted(found, key=lambda ngram: (-found[ngram], ngram))[:count], max_width)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
