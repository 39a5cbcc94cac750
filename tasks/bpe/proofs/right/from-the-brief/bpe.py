"""Byte pair encoding (Sennrich, Haddow and Birch, 2016), with BPE dropout (Provilkov et al., 2020)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from text.merges import Merges
from text.stream import Uniforms
from text.vocabulary import UNKNOWN, Vocabulary
from text.words import join, symbols, words

Pair = tuple[str, str]


def learn(counts: dict[str, int], operations: int, min_count: int = 2) -> list[tuple[str, str]]:
    """Return the merge operations that byte pair encoding learns from word counts.

    Among equally frequent pairs the smallest one is taken, so that the order of `counts` plays no part. Raises
    ValueError for a negative number of operations, a negative count or an empty word.
    """
    if operations < 0:
        raise ValueError(f"operations must not be negative, not {operations}")
    if any(count < 0 for count in counts.values()):
        raise ValueError("a word has a negative count")
    corpus = [(symbols(word), count) for word, count in counts.items()]

    learned: list[Pair] = []
    while len(learned) < operations:
        frequencies = _pair_frequencies(corpus)
        if not frequencies:
            break
        best = min(frequencies, key=lambda pair: (-frequencies[pair], pair))
        if frequencies[best] < min_count:
            break
        learned.append(best)
        corpus = [(_merge_everywhere(parts, best), count) for parts, count in corpus]
    return learned


def _pair_frequencies(corpus: list[tuple[list[str], int]]) -> Counter[Pair]:
    """Count every adjacent pair, overlapping ones too, with the weight of its word."""
    frequencies: Counter[Pair] = Counter()
    for parts, count in corpus:
        for pair in pairwise(parts):
            frequencies[pair] += count
    return frequencies


def _merge_everywhere(parts: list[str], pair: Pair) -> list[str]:
    """Return `parts` with the occurrences of `pair` merged, from left to right and without overlap."""
    merged: list[str] = []
    position = 0
    while position < len(parts):
        if tuple(parts[position : position + 2]) == pair:
            merged.append("".join(pair))
            position += 2
        else:
            merged.append(parts[position])
            position += 1
    return merged


def segment(word: str, merges: Merges, dropout: float = 0.0, stream: Uniforms | None = None) -> list[str]:
    """Split one word into symbols, the last of which ends with END.

    With `dropout`, each possible merge of a step is left out with that probability, decided by one number of `stream`
    per position. Raises ValueError for an empty word, a dropout outside [0, 1], or dropout without a stream.
    """
    if not 0.0 <= dropout <= 1.0:
        raise ValueError(f"dropout must lie in [0, 1], not {dropout}")
    if dropout > 0.0 and stream is None:
        raise ValueError("dropout needs a stream of random numbers")

    ranks = merges.ranks()
    parts = symbols(word)
    while True:
        candidates = [position for position, pair in enumerate(pairwise(parts)) if pair in ranks]
        if dropout > 0.0 and candidates:
            numbers = stream.take(len(candidates))
            candidates = [position for position, number in zip(candidates, numbers, strict=True) if number >= dropout]
        if not candidates:
            return parts
        # `min` keeps the first of equals, which is the leftmost occurrence.
        chosen = min(candidates, key=lambda position: ranks[parts[position], parts[position + 1]])
        parts[chosen : chosen + 2] = [parts[chosen] + parts[chosen + 1]]


@dataclass(frozen=True)
class Tokenizer:
    """Text to ids and back."""

    merges: Merges
    vocabulary: Vocabulary

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of a text, int64 of shape (k,).

        Symbols that the vocabulary lacks are taken apart again; what cannot be taken apart becomes UNKNOWN.
        """
        ids = self.vocabulary.ids()
        origins = self.merges.parts()
        known: dict[str, list[int]] = {}
        encoded: list[int] = []
        for word in words(text):
            if word not in known:
                units = _restrict(segment(word, self.merges), ids, origins)
                known[word] = [ids.get(unit, ids[UNKNOWN]) for unit in units]
            encoded.extend(known[word])
        return np.array(encoded, dtype=np.int64)

    def decode(self, ids: np.ndarray) -> str:
        """Return the text that ids stand for. Raises ValueError for an id outside the vocabulary."""
        spelling = self.vocabulary.symbols
        valid = range(len(spelling))
        parts: list[str] = []
        for index in np.asarray(ids).tolist():
            if index not in valid:
                raise ValueError(f"id {index} is not in the vocabulary of {len(spelling)} symbols")
            parts.append(spelling[int(index)])
        return join(parts)


def _restrict(parts: list[str], ids: dict[str, int], origins: dict[str, Pair]) -> list[str]:
    """Return `parts` with every merged symbol that has no id split until its parts have one or are not merged."""
    units: list[str] = []
    pending = parts[::-1]
    while pending:
        unit = pending.pop()
        if unit in ids or unit not in origins:
            units.append(unit)
        else:
            first, second = origins[unit]
            pending += (second, first)
    return units
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
