"""From texts to numbers of terms."""

from __future__ import annotations

from collections.abc import Iterable

UNKNOWN = -1


class Vocabulary:
    """The terms of a collection, numbered in the order in which they first occur."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.numbers: dict[str, int] = {}
        for text in texts:
            for word in text.lower().split():
                self.numbers.setdefault(word, len(self.numbers))

    def __len__(self) -> int:
        return len(self.numbers)

    def terms(self, text: str) -> list[int]:
        """The terms of a text in order, repetitions included; `UNKNOWN` for words that are not in the vocabulary."""
        return [self.numbers.get(word, UNKNOWN) for word in text.lower().split()]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
