"""Symbols and their ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

UNKNOWN = "<unk>"


@dataclass(frozen=True)
class Vocabulary:
    """`symbols[i]` has id i; id 0 is UNKNOWN. Make one with `Vocabulary.of`."""

    symbols: tuple[str, ...]

    @classmethod
    def of(cls, symbols: Iterable[str]) -> Vocabulary:
        """Put UNKNOWN first, and each other symbol once, in the given order."""
        return cls(symbols=tuple(dict.fromkeys([UNKNOWN, *symbols])))

    def ids(self) -> dict[str, int]:
        """Return the id of every symbol."""
        return {symbol: index for index, symbol in enumerate(self.symbols)}


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
