"""Learned merge operations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Pair = tuple[str, str]


@dataclass(frozen=True)
class Merges:
    """Merge operations, the first learned one first. Make one with `Merges.of`."""

    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, pairs: Iterable[Iterable[str]]) -> Merges:
        """Raises ValueError for what is not a pair, or for a pair that is listed twice."""
        made = tuple((first, second) for first, second in pairs)
        if len(set(made)) != len(made):
            raise ValueError("a pair is listed twice")
        return cls(pairs=made)

    def ranks(self) -> dict[Pair, int]:
        """Return the position of every pair: the lower, the earlier it was learned."""
        return {pair: rank for rank, pair in enumerate(self.pairs)}

    def parts(self) -> dict[str, Pair]:
        """Return, for every merged symbol, the pair that it was first made of."""
        return {"".join(pair): pair for pair in reversed(self.pairs)}


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
