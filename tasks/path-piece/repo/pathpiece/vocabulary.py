"""Tokens of bytes and their ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

BYTES = tuple(bytes([value]) for value in range(256))
"""The single bytes, which every vocabulary has, with the ids 0 to 255."""


@dataclass(frozen=True)
class Vocabulary:
    """`tokens[i]` has the id i, and no token is wider than `max_width` bytes. Make one with `Vocabulary.of`."""

    tokens: tuple[bytes, ...]
    max_width: int

    @classmethod
    def of(cls, tokens: Iterable[bytes], max_width: int = 16) -> Vocabulary:
        """Put the single bytes first, and each other token once, in the given order.

        Raises ValueError for an empty token, one wider than `max_width`, and a `max_width` below 1.
        """
        made = tuple(dict.fromkeys([*BYTES, *tokens]))
        if max_width < 1 or not all(1 <= len(token) <= max_width for token in made):
            raise ValueError(f"a token has between 1 and {max_width} bytes")
        return cls(tokens=made, max_width=max_width)

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.tokens)

    def ids(self) -> dict[bytes, int]:
        """Return the id of every token."""
        return {token: index for index, token in enumerate(self.tokens)}


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
