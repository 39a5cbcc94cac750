"""How well a segmentation compresses a text."""

from __future__ import annotations

from bpe import segment

from text.merges import Merges
from text.words import count_words


def symbols_per_word(text: str, merges: Merges) -> float:
    """Return the mean number of symbols per word of a text that is not empty."""
    counts = count_words(text)
    return sum(count * len(segment(word, merges)) for word, count in counts.items()) / sum(counts.values())


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
