"""Shortest paths over the edges of a trie, forwards."""

import numpy as np

from .pretokens import split


class _Node:
    __slots__ = ("children", "number")

    def __init__(self):
        self.children, self.number = {}, None


def _trie(vocabulary):
    root = _Node()
    for number, token in enumerate(vocabulary.tokens):
        node = root
        for byte in token:
            node = node.children.setdefault(byte, _Node())
        node.number = number
    return root


def edges(data, vocabulary):
    """For every start, the ends and ids of the tokens there, the shortest one first."""
    root, result = _trie(vocabulary), []
    for start in range(len(data)):
        node, found = root, []
        for at in range(start, len(data)):
            node = node.children.get(data[at])
            if node is None:
                break
            if node.number is not None:
                found.append((at + 1, node.number))
        result.append(found)
    return result


def distances(data, graph):
    inf = len(data) + 1
    ahead = [0] + [inf] * len(data)
    for start in range(len(data)):
        for end, _ in graph[start]:
            ahead[end] = min(ahead[end], ahead[start] + 1)
    behind = [inf] * len(data) + [0]
    for start in range(len(data) - 1, -1, -1):
        behind[start] = 1 + min(behind[end] for end, _ in graph[start])
    return ahead, behind


def segment(data, vocabulary, tie="longest", stream=None):
    if tie == "random":
        if stream is None:
            raise ValueError("no stream")
    elif tie != "longest":
        raise ValueError("tie")
    graph = edges(data, vocabulary)
    ahead, _ = distances(data, graph)
    incoming = [[] for _ in range(len(data) + 1)]
    for start, found in enumerate(graph):
        for end, number in found:
            if ahead[start] + 1 == ahead[end]:
                incoming[end].append((start, number))  # the widest one comes first
    choice = [None] * (len(data) + 1)
    for end in range(1, len(data) + 1):
        best = incoming[end][::-1]
        choice[end] = best[-1]
        if tie == "random" and len(best) >= 2:
            (u,) = stream.take(1)
            choice[end] = best[int(np.floor(u * len(best)))]
    path, at = [], len(data)
    while at:
        at, number = choice[at]
        path.insert(0, number)
    return np.array(path, dtype=np.int64)


def encode(text, vocabulary, spaces="first", digits=False, tie="longest", stream=None):
    segment(b"", vocabulary, tie, stream)
    ids = []
    for piece in split(text.encode("utf-8"), spaces, digits):
        ids.extend(segment(piece, vocabulary, tie, stream))
    return np.array(ids, dtype=np.int64)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
