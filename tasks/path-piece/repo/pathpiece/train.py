"""A vocabulary for a collection of documents."""

from __future__ import annotations

from collections.abc import Sequence

from .construction import shrink
from .ngrams import frequent
from .pretokens import count_pieces
from .vocabulary import Vocabulary


def train(documents: Sequence[bytes], size: int, start: int, batch: int, spaces: str = "first") -> Vocabulary:
    """Return a vocabulary of `size` tokens, which is left of the bytes and the `start` most frequent n-grams."""
    corpus = count_pieces(documents, spaces)
    return shrink(corpus, frequent(corpus, start), size, batch)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
