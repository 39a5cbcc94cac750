"""Tokens of a language model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Vocabulary:
    """Tokens are numbered by their place.

    tokens: the text of each token. Texts may repeat, and control tokens may have the empty text.
    eos: the number of the token that ends a text. Whatever its entry in `tokens` is, it spells nothing.
    """

    tokens: tuple[str, ...]
    eos: int

    def __post_init__(self) -> None:
        if not 0 <= self.eos < len(self.tokens):
            raise ValueError(f"eos must be one of {len(self.tokens)} tokens, not {self.eos}")

    def text(self, tokens: list[int]) -> str:
        """What a list of tokens spells."""
        return "".join(self.tokens[token] for token in tokens if token != self.eos)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
