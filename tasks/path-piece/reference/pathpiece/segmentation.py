"""Segmentation into the fewest tokens."""

from __future__ import annotations

import numpy as np

from .pretokens import split
from .stream import Uniforms
from .vocabulary import Vocabulary


def segment(data: bytes, vocabulary: Vocabulary, tie: str = "longest", stream: Uniforms | None = None) -> np.ndarray:
    """Return the ids of the fewest tokens that spell `data`, (k,), int64.

    Raises ValueError for an unknown `tie`, and for "random" without a stream.
    """
    if tie not in ("longest", "random"):
        raise ValueError(f"tie is 'longest' or 'random', not {tie!r}")
    if tie == "random" and stream is None:
        raise ValueError("random ties need a stream")
    ids = vocabulary.ids()
    fewest, chosen = [0], [0]  # of the first `end` bytes: the number of tokens, and the width of the last one
    for end in range(1, len(data) + 1):
        widths = [width for width in range(1, min(vocabulary.max_width, end) + 1) if data[end - width : end] in ids]
        least = min(fewest[end - width] for width in widths)
        tied = [width for width in widths if fewest[end - width] == least]
        pick = len(tied) - 1
        if tie == "random" and stream is not None and len(tied) > 1:
            pick = int(stream.take(1)[0] * len(tied))
        fewest.append(least + 1)
        chosen.append(tied[pick])
    result, end = [], len(data)
    while end > 0:
        result.append(ids[data[end - chosen[end] : end]])
        end -= chosen[end]
    return np.array(result[::-1], dtype=np.int64)


def encode(
    text: str,
    vocabulary: Vocabulary,
    spaces: str = "first",
    digits: bool = False,
    tie: str = "longest",
    stream: Uniforms | None = None,
) -> np.ndarray:
    """Return the ids of a text, (k,), int64. No token crosses a boundary of its pieces.

    Raises ValueError as `split` and `segment` do, for an empty text, too.
    """
    pieces = split(text.encode(), spaces, digits)
    return np.concatenate([segment(piece, vocabulary, tie, stream) for piece in [b"", *pieces]])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
