"""Byte pair encoding."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from operator import index

import numpy as np
from text.merges import Merges, Pair
from text.stream import Uniforms
from text.vocabulary import UNKNOWN, Vocabulary
from text.words import join, symbols, words


class _Corpus:
    """Words as symbols, with the counts of their pairs kept up to date from merge to merge.

    `holders[pair]` has the numbers of the words that hold the pair; a pair that no word holds has no entry. Every
    change of a pair's weight puts a fresh entry on the queue, and entries that are out of date are passed over.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.spelled = [symbols(word) for word in counts]
        self.weights = list(counts.values())
        if any(weight < 0 for weight in self.weights):
            raise ValueError("a word has a negative count")
        self.totals: dict[Pair, int] = defaultdict(int)
        self.holders: dict[Pair, set[int]] = defaultdict(set)
        for number in range(len(self.spelled)):
            self._enter(number)
        self.queue = [(-self.totals[pair], pair) for pair in self.holders]
        heapify(self.queue)

    def best(self) -> tuple[int, Pair] | None:
        """The count of the most frequent pair, and the pair; None if there is none. It stays on the queue."""
        while self.queue:
            negative, pair = self.queue[0]
            if pair in self.holders and self.totals[pair] == -negative:
                return -negative, pair
            heappop(self.queue)
        return None

    def merge(self, pair: Pair) -> None:
        """Join all occurrences of a pair."""
        touched: set[Pair] = set()
        for number in sorted(self.holders[pair]):
            touched |= self._leave(number)
            self.spelled[number] = list(_joined(self.spelled[number], pair))
            touched |= self._enter(number)
        for changed in touched:
            if changed in self.holders:
                heappush(self.queue, (-self.totals[changed], changed))

    def _pairs(self, number: int) -> Counter[Pair]:
        spelled = self.spelled[number]
        return Counter(zip(spelled, spelled[1:]))

    def _enter(self, number: int) -> set[Pair]:
        pairs = self._pairs(number)
        for pair, times in pairs.items():
            self.totals[pair] += times * self.weights[number]
            self.holders[pair].add(number)
        return set(pairs)

    def _leave(self, number: int) -> set[Pair]:
        pairs = self._pairs(number)
        for pair, times in pairs.items():
            self.totals[pair] -= times * self.weights[number]
            self.holders[pair].discard(number)
            if not self.holders[pair]:
                del self.holders[pair], self.totals[pair]
        return set(pairs)


def _joined(spelled: Iterable[str], pair: Pair) -> Iterator[str]:
    """The symbols with the pair merged from left to right, without overlap."""
    left, right = pair
    held: str | None = None
    for symbol in spelled:
        if held is None:
            held = symbol
        elif held == left and symbol == right:
            yield left + right
            held = None
        else:
            yield held
            held = symbol
    if held is not None:
        yield held


def learn(counts: dict[str, int], operations: int, min_count: int = 2) -> list[tuple[str, str]]:
    """Return the merge operations that byte pair encoding learns from word counts."""
    if operations < 0:
        raise ValueError(f"operations must not be negative, as {operations} is")
    corpus = _Corpus(counts)
    learned: list[Pair] = []
    while len(learned) < operations:
        best = corpus.best()
        if best is None or best[0] < min_count:
            break
        learned.append(best[1])
        corpus.merge(best[1])
    return learned


def segment(word: str, merges: Merges, dropout: float = 0.0, stream: Uniforms | None = None) -> list[str]:
    """Split one word into symbols, the last of which ends with END."""
    return _segment(word, merges.ranks(), dropout, stream)


def _segment(word: str, ranks: Mapping[Pair, int], dropout: float, stream: Uniforms | None) -> list[str]:
    if not 0.0 <= dropout <= 1.0:
        raise ValueError(f"dropout must be between 0 and 1, not {dropout}")
    if dropout > 0.0 and stream is None:
        raise ValueError("dropout needs a stream of random numbers")
    parts = symbols(word)

    # levels[i] is the rank of the pair of parts[i] and its right neighbour, None where that is no merge. The last
    # part has no right neighbour and keeps its None to the end, so that both lists have one length.
    levels = [ranks.get(pair) for pair in zip(parts, parts[1:])]
    levels.append(None)
    while True:
        chosen, lowest = -1, len(ranks)
        for place, level in enumerate(levels):
            if level is None or (dropout > 0.0 and stream.take(1)[0] < dropout):
                continue
            if level < lowest:
                chosen, lowest = place, level
        if chosen < 0:
            return parts
        parts[chosen : chosen + 2] = [parts[chosen] + parts[chosen + 1]]
        del levels[chosen]
        for place in (chosen - 1, chosen):
            if 0 <= place < len(parts) - 1:
                levels[place] = ranks.get((parts[place], parts[place + 1]))


class Tokenizer:
    """Text to ids and back."""

    def __init__(self, merges: Merges, vocabulary: Vocabulary) -> None:
        self.merges = merges
        self.vocabulary = vocabulary
        self._ranks = merges.ranks()
        self._parts = merges.parts()
        self._ids = vocabulary.ids()

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of a text."""
        known: dict[str, list[int]] = {}
        numbers: list[int] = []
        for word in words(text):
            if word not in known:
                known[word] = list(self._lookup(_segment(word, self._ranks, 0.0, None)))
            numbers += known[word]
        return np.fromiter(numbers, dtype=np.int64, count=len(numbers))

    def decode(self, ids: np.ndarray | Sequence[int]) -> str:
        """Return the text that ids stand for."""
        size = len(self.vocabulary.symbols)
        spelled = []
        for number in map(index, ids):
            if not 0 <= number < size:
                raise ValueError(f"there is no id {number} in a vocabulary of {size} symbols")
            spelled.append(self.vocabulary.symbols[number])
        return join(spelled)

    def _lookup(self, spelled: Iterable[str]) -> Iterator[int]:
        """The ids of symbols; what the vocabulary lacks is taken apart as far as the merges go."""
        waiting = [*spelled][::-1]
        while waiting:
            symbol = waiting.pop()
            if symbol in self._ids:
                yield self._ids[symbol]
            elif symbol in self._parts:
                left, right = self._parts[symbol]
                waiting += (right, left)
            else:
                yield self._ids[UNKNOWN]

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
