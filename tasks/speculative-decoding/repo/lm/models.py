"""Language models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Model = Callable[[list[int]], np.ndarray]
"""A model maps n >= 1 tokens to logits (n, V), in one forward pass; row t scores the token after tokens[: t + 1]."""


@dataclass(frozen=True)
class Bigram:
    """Scores the next token by the last one alone."""

    table: np.ndarray  # (V, V): logits of the next token, by the last one

    def __call__(self, tokens: list[int]) -> np.ndarray:
        return self.table[np.asarray(tokens, dtype=np.int64)]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
