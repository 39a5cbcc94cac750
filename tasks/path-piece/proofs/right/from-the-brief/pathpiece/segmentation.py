"""Segmentation into the fewest tokens."""

from __future__ import annotations

import numpy as np

from .pretokens import split
from .stream import Uniforms
from .vocabulary import Vocabulary


def check_tie(tie: str, stream: Uniforms | None) -> None:
    """Raise ValueError for an unknown rule, and for a random one without random numbers."""
    if tie not in ("longest", "random"):
        raise ValueError(f"tie is 'longest' or 'random', not {tie!r}")
    if tie == "random" and stream is None:
        raise ValueError("random ties need a stream")


def widths_of(ids: dict[bytes, int]) -> list[int]:
    """Return the widths that tokens have, in ascending order."""
    return sorted({len(token) for token in ids})


def forward(
    data: bytes, ids: dict[bytes, int], widths: list[int], stream: Uniforms | None = None
) -> tuple[list[int], list[int]]:
    """Return K of equation (1) for all ends 0 .. n, and the width of the last token of each (0 for the end 0).

    The widest of equally good tokens is taken, or a random one if there is a stream.
    """
    least, last = [0], [0]
    for end in range(1, len(data) + 1):
        fewest, best = end + 1, []
        for width in widths:
            if width > end:
                break
            if data[end - width : end] in ids:
                tokens = least[end - width] + 1
                if tokens < fewest:
                    fewest, best = tokens, [width]
                elif tokens == fewest:
                    best.append(width)
        choice = len(best) - 1
        if stream is not None and choice > 0:
            choice = min(int(float(stream.take(1)[0]) * len(best)), choice)
        least.append(fewest)
        last.append(best[choice])
    return least, last


def spans(last: list[int]) -> list[tuple[int, int]]:
    """Return start and end of each token of a segmentation, in order, from the widths of last tokens."""
    found, end = [], len(last) - 1
    while end > 0:
        found.append((end - last[end], end))
        end -= last[end]
    return found[::-1]


def _ids(data: bytes, ids: dict[bytes, int], widths: list[int], stream: Uniforms | None) -> list[int]:
    _, last = forward(data, ids, widths, stream)
    return [ids[data[start:end]] for start, end in spans(last)]


def segment(data: bytes, vocabulary: Vocabulary, tie: str = "longest", stream: Uniforms | None = None) -> np.ndarray:
    """Return the ids of the fewest tokens that spell `data`, (k,)."""
    check_tie(tie, stream)
    ids = vocabulary.ids()
    return np.array(_ids(data, ids, widths_of(ids), stream if tie == "random" else None), dtype=np.int64)


def encode(
    text: str,
    vocabulary: Vocabulary,
    spaces: str = "first",
    digits: bool = False,
    tie: str = "longest",
    stream: Uniforms | None = None,
) -> np.ndarray:
    """Return the ids of a text, (k,). No token crosses a boundary of its pieces."""
    check_tie(tie, stream)
    ids = vocabulary.ids()
    widths = widths_of(ids)
    used = stream if tie == "random" else None
    pieces = split(text.encode("utf-8"), spaces, digits)
    return np.array([token for piece in pieces for token in _ids(piece, ids, widths, used)], dtype=np.int64)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
