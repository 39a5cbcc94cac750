"""Tokens and what they are worth, by distances in the graph of a piece."""

import numpy as np

from .segmentation import distances, edges, segment
from .vocabulary import Vocabulary


def _check(corpus):
    for times in corpus.values():
        if times < 0:
            raise ValueError("negative count")


def count_tokens(corpus, vocabulary):
    _check(corpus)
    counts = [0] * len(vocabulary)
    for piece, times in corpus.items():
        for number in segment(piece, vocabulary):
            counts[number] += times
    return np.array(counts, dtype=np.int64)


def increases(corpus, vocabulary):
    _check(corpus)
    grown = [0] * len(vocabulary)
    for piece, times in corpus.items():
        graph = edges(piece, vocabulary)
        ahead, behind = distances(piece, graph)
        start = 0
        for number in segment(piece, vocabulary):
            width = len(vocabulary.tokens[number])
            detours = [ahead[at] + behind[at] for at in range(start + 1, start + width)]
            for other in range(max(0, start - vocabulary.max_width), start + 1):
                for end, _ in graph[other]:
                    if end >= start + width and (other, end) != (start, start + width):
                        detours.append(ahead[other] + 1 + behind[end])
            if width > 1:
                grown[number] += times * (min(detours) - ahead[-1])
            start += width
    for number, token in enumerate(vocabulary.tokens):
        if len(token) == 1:
            grown[number] = -1
    return np.array(grown, dtype=np.int64)


def shrink(corpus, vocabulary, size, batch):
    if size < 256 or batch < 1:
        raise ValueError("size or batch")
    tokens = list(vocabulary.tokens)
    while len(tokens) > size:
        moment = Vocabulary.of(tokens, vocabulary.max_width)
        grown = increases(corpus, moment)
        ranked = [(int(grown[i]), -len(tokens[i]), -i) for i in range(256, len(tokens))]
        for _, _, i in sorted(sorted(ranked)[: min(batch, len(tokens) - size)], key=lambda entry: entry[2]):
            del tokens[-i]
    return Vocabulary.of(tokens, vocabulary.max_width)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
