"""Pieces of a text that no token crosses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

PATTERNS = {
    ("first", False): rb" ?[^ ]+| ",
    ("first", True): rb" ?[^ 0-9]+| ?[0-9]| ",
    ("space", False): rb"[^ ]+| ",
    ("space", True): rb"[^ 0-9]+|[0-9]| ",
    ("none", True): rb"[^0-9]+|[0-9]",
}


def split(data: bytes, spaces: str = "first", digits: bool = False) -> list[bytes]:
    """Return the pieces of a text in order; joined, they are the text. None of them is empty.

    `spaces`: "first" (a space may only begin a piece), "space" (each space is a piece of its own) or "none" (spaces are
    bytes like any other). `digits`: each digit ends its piece and begins one, but for a space before it.
    Raises ValueError for another value of `spaces`.
    """
    if spaces not in ("first", "space", "none"):
        raise ValueError(f"spaces is 'first', 'space' or 'none', not {spaces!r}")
    if (spaces, digits) == ("none", False):
        return [data] if data else []
    return re.findall(PATTERNS[spaces, digits], data)


def count_pieces(documents: Iterable[bytes], spaces: str = "first", digits: bool = False) -> dict[bytes, int]:
    """Return how often each piece occurs in the documents, in order of first occurrence."""
    return dict(Counter(piece for document in documents for piece in split(document, spaces, digits)))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
