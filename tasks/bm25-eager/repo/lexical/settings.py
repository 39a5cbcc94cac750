"""Which BM25."""

from __future__ import annotations

from dataclasses import dataclass

VARIANTS = ("lucene", "robertson", "atire", "bm25l", "bm25+")


@dataclass(frozen=True)
class Settings:
    """A variant of BM25 and its parameters. Raises ValueError for values out of range.

    variant: one of `VARIANTS`.
    k1: how slowly repetitions of a term saturate, >= 0.
    b: how much the length of a document counts, in [0, 1].
    delta: the lower bound of the variants bm25l and bm25+, >= 0; the other variants do not use it.
    """

    variant: str = "lucene"
    k1: float = 1.5
    b: float = 0.75
    delta: float = 0.5

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise ValueError(f"unknown variant {self.variant!r}: choose one of {', '.join(VARIANTS)}")
        if not (self.k1 >= 0.0 and 0.0 <= self.b <= 1.0 and self.delta >= 0.0):
            raise ValueError(f"k1 {self.k1}, b {self.b} or delta {self.delta} is out of range")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
