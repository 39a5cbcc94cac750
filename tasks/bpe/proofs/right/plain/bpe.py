"""Byte pair encoding, written with plain lists: every step looks at every word again. The tokenizer is a named tuple."""

from typing import NamedTuple

import numpy as np
from text.merges import Merges
from text.stream import Uniforms
from text.vocabulary import UNKNOWN, Vocabulary
from text.words import join, symbols, words


def learn(counts, operations, min_count=2):
    if operations < 0:
        raise ValueError(f"operations is {operations}, and must not be negative")
    table = []
    for word, count in counts.items():
        if count < 0:
            raise ValueError(f"the count of {word!r} is negative")
        table.append((symbols(word), count))
    learned = []
    while len(learned) < operations:
        totals = {}
        for parts, count in table:
            for index in range(len(parts) - 1):
                pair = parts[index], parts[index + 1]
                totals[pair] = totals.get(pair, 0) + count
        best = None
        for pair, total in totals.items():
            if best is None or total > totals[best] or (total == totals[best] and pair < best):
                best = pair
        if best is None or totals[best] < min_count:
            break
        learned.append(best)
        table = [(_merged(parts, best), count) for parts, count in table]
    return learned


def _merged(parts, pair):
    done = []
    rest = list(parts)
    while rest:
        if len(rest) > 1 and (rest[0], rest[1]) == pair:
            done.append(rest[0] + rest[1])
            rest = rest[2:]
        else:
            done.append(rest[0])
            rest = rest[1:]
    return done


def segment(word, merges, dropout=0.0, stream: Uniforms | None = None):
    if not 0.0 <= dropout <= 1.0:
        raise ValueError(f"dropout is {dropout}, and must lie between 0 and 1")
    if dropout > 0.0 and stream is None:
        raise ValueError("dropout needs a stream of random numbers")
    ranks = merges.ranks()
    parts = symbols(word)
    while True:
        places = [i for i in range(len(parts) - 1) if (parts[i], parts[i + 1]) in ranks]
        if places and dropout > 0.0:
            numbers = stream.take(len(places))
            places = [place for place, number in zip(places, numbers, strict=True) if not number < dropout]
        if not places:
            return parts
        lowest = min(ranks[parts[i], parts[i + 1]] for i in places)
        for i in places:
            if ranks[parts[i], parts[i + 1]] == lowest:
                parts = parts[:i] + [parts[i] + parts[i + 1]] + parts[i + 2 :]
                break


class Tokenizer(NamedTuple):
    merges: Merges
    vocabulary: Vocabulary

    def encode(self, text):
        ids = self.vocabulary.ids()
        parts_of = self.merges.parts()
        found = []
        for word in words(text):
            # a stack, the left part on top
            waiting = segment(word, self.merges)[::-1]
            while waiting:
                symbol = waiting.pop()
                if symbol in ids:
                    found.append(ids[symbol])
                elif symbol in parts_of:
                    left, right = parts_of[symbol]
                    waiting.append(right)
                    waiting.append(left)
                else:
                    found.append(ids[UNKNOWN])
        return np.array(found, dtype=np.int64)

    def decode(self, ids):
        known = self.vocabulary.symbols
        spelled = []
        for each in ids:
            number = int(each)
            if number < 0 or number >= len(known):
                raise ValueError(f"{number} is the id of no symbol")
            spelled.append(known[number])
        return join(spelled)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
