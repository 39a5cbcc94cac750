"""A stack of blocks, with the history of its tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .block import Block
from .matching import Matching
from .merging import trace, unmerge


@dataclass(frozen=True, eq=False)
class Output:
    """Tokens `(T', C)`, their sizes `(T',)`, sources `(T', T)` of the T tokens that came in, and the matchings."""

    tokens: np.ndarray
    size: np.ndarray
    source: np.ndarray
    matchings: tuple[Matching, ...]

    def dense(self) -> np.ndarray:
        """A token `(T, C)` for each one that came in."""
        tokens = self.tokens
        for matching in reversed(self.matchings):
            tokens = unmerge(matching, tokens)
        return tokens


@dataclass(frozen=True, eq=False)
class Model:
    """Blocks, each of which merges `r` tokens."""

    blocks: tuple[Block, ...]
    r: int

    def __call__(self, x: np.ndarray) -> Output:
        """Output for `(T, C)` tokens, the class token first."""
        size, source, matchings = np.ones(len(x)), np.eye(len(x), dtype=bool), []
        for block in self.blocks:
            x, size, matching = block(x, size, self.r)
            source = trace(matching, source)
            matchings.append(matching)
        return Output(x, size, source, tuple(matchings))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
