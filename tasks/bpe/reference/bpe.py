"""Byte pair encoding."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from text.merges import Merges
from text.stream import Uniforms
from text.vocabulary import UNKNOWN, Vocabulary
from text.words import join, symbols, words


def learn(counts: dict[str, int], operations: int, min_count: int = 2) -> list[tuple[str, str]]:
    """Return the merge operations that byte pair encoding learns from word counts, the first one first.

    Raises ValueError for a negative number of operations or a negative count.
    """
    if operations < 0 or min(counts.values(), default=0) < 0:
        raise ValueError("the number of operations and the counts of words must not be negative")
    split = {word: symbols(word) for word in counts}
    learned: list[tuple[str, str]] = []
    while len(learned) < operations:
        frequency: Counter[tuple[str, str]] = Counter()
        for word, parts in split.items():
            for pair in pairwise(parts):
                frequency[pair] += counts[word]
        best = min(frequency, key=lambda pair: (-frequency[pair], pair), default=None)
        if best is None or frequency[best] < min_count:
            break
        learned.append(best)
        for parts in split.values():
            at = 0
            while at < len(parts) - 1:
                if (parts[at], parts[at + 1]) == best:
                    parts[at : at + 2] = ["".join(best)]
                at += 1  # the merged symbol takes no part in this operation again
    return learned


def segment(word: str, merges: Merges, dropout: float = 0.0, stream: Uniforms | None = None) -> list[str]:
    """Split one word into symbols, the last of which ends with END.

    One occurrence is merged at a time: the earliest learned pair, the leftmost of its occurrences. With dropout every
    occurrence is left out of a step with that probability, and the word is finished when a step has none left.
    Raises ValueError for an empty word, a probability outside [0, 1], or dropout without a stream.
    """
    if not 0.0 <= dropout <= 1.0 or (dropout > 0.0 and stream is None):
        raise ValueError("dropout is a probability, and needs a stream if it is not zero")
    parts = symbols(word)
    ranks = merges.ranks()
    while True:
        found = [at for at in range(len(parts) - 1) if (parts[at], parts[at + 1]) in ranks]
        if stream is not None and dropout > 0.0:
            draws = stream.take(len(found))
            found = [at for at, draw in zip(found, draws, strict=True) if draw >= dropout]
        if not found:
            return parts
        at = min(found, key=lambda at: ranks[parts[at], parts[at + 1]])
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


@dataclass(frozen=True)
class Tokenizer:
    """Text to ids and back."""

    merges: Merges
    vocabulary: Vocabulary

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of a text, int64. What the vocabulary lacks is taken apart until it has it, or unknown."""
        ids = self.vocabulary.ids()
        origin = self.merges.parts()
        encoded: list[int] = []
        for word in words(text):
            pending = segment(word, self.merges)[::-1]
            while pending:
                symbol = pending.pop()
                if symbol not in ids and symbol in origin:
                    pending.extend(origin[symbol][::-1])
                else:
                    encoded.append(ids.get(symbol, ids[UNKNOWN]))
        return np.array(encoded, dtype=np.int64)

    def decode(self, ids: np.ndarray) -> str:
        """Return the text that ids stand for. Raises ValueError for an id that the vocabulary lacks."""
        known = self.vocabulary.symbols
        numbers = [int(number) for number in ids]
        if any(not 0 <= number < len(known) for number in numbers):
            raise ValueError(f"ids go from 0 to {len(known) - 1}")
        return join([known[number] for number in numbers])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
