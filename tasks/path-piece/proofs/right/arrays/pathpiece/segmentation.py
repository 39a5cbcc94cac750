"""Segmentation with one array of best tokens per text."""

from __future__ import annotations

import numpy as np

from .pretokens import split
from .stream import Uniforms
from .vocabulary import Vocabulary


def table(data: bytes, vocabulary: Vocabulary) -> np.ndarray:
    """Ids of the tokens that end at each byte, (n + 1, width + 1); -1 where there is none."""
    ids = vocabulary.ids()
    found = np.full((len(data) + 1, vocabulary.max_width + 1), -1, dtype=np.int64)
    for width in range(1, min(len(data), vocabulary.max_width) + 1):
        for end in range(width, len(data) + 1):
            found[end, width] = ids.get(data[end - width : end], -1)
    return found


def lengths(found: np.ndarray) -> np.ndarray:
    """Least numbers of tokens up to each end."""
    size, widest = len(found) - 1, found.shape[1] - 1
    least = np.full(size + 1, size + 1, dtype=np.int64)
    least[0] = 0
    for end in range(1, size + 1):
        widths = np.flatnonzero(found[end] >= 0)
        least[end] = least[end - widths].min() + 1
    assert widest >= 1
    return least


def segment(data: bytes, vocabulary: Vocabulary, tie: str = "longest", stream: Uniforms | None = None) -> np.ndarray:
    """The fewest tokens."""
    if not (tie == "longest" or (tie == "random" and stream is not None)):
        raise ValueError("tie must be 'longest', or 'random' with a stream")
    found = table(data, vocabulary)
    least = lengths(found)
    width = np.zeros(len(data) + 1, dtype=np.int64)
    for end in range(1, len(data) + 1):
        widths = np.flatnonzero(found[end] >= 0)
        best = widths[least[end - widths] == least[end] - 1]
        if tie == "longest" or len(best) == 1:
            width[end] = best.max()
        else:
            width[end] = best[int(stream.take(1)[0] * best.size)]
    result = np.zeros(least[-1], dtype=np.int64)
    end = len(data)
    for place in reversed(range(len(result))):
        result[place] = found[end, width[end]]
        end -= width[end]
    return result


def encode(
    text: str,
    vocabulary: Vocabulary,
    spaces: str = "first",
    digits: bool = False,
    tie: str = "longest",
    stream: Uniforms | None = None,
) -> np.ndarray:
    """Segment each piece."""
    data = text.encode()
    if not data:
        split(data, spaces, digits)
        return segment(data, vocabulary, tie, stream)
    return np.hstack([segment(piece, vocabulary, tie, stream) for piece in split(data, spaces, digits)])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
