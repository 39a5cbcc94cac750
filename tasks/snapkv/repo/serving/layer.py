"""An attention layer that generates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .attention import attend
from .cache import Cache
from .prompt import Prompt
from .rotary import rotate
from .settings import Settings
from .snapkv import compress


@dataclass(frozen=True, eq=False)
class Layer:
    """Weights `(heads, D, width)` of queries, keys and values, and `(H, e, D)` of the output."""

    to_queries: np.ndarray
    to_keys: np.ndarray
    to_values: np.ndarray
    to_output: np.ndarray

    def prompt(self, tokens: np.ndarray) -> Prompt:
        """Queries, keys and values of `(T, D)` embedded tokens."""
        places = np.arange(len(tokens))
        queries, keys = (rotate(tokens @ matrix, places) for matrix in (self.to_queries, self.to_keys))
        return Prompt(queries, keys, tokens @ self.to_values)

    def step(self, cache: Cache, token: np.ndarray) -> tuple[Cache, np.ndarray]:
        """The cache with one more token `(D,)`, and the output `(D,)` of this token."""
        place = np.array([cache.length])
        query, key = (rotate(token[None] @ matrix, place)[:, 0] for matrix in (self.to_queries, self.to_keys))
        cache = cache.extended(key, token @ self.to_values)
        return cache, np.einsum("he,hed->d", attend(query, cache.keys, cache.values), self.to_output)

    def generate(self, tokens: np.ndarray, count: int, settings: Settings) -> np.ndarray:
        """`(count, D)`: outputs after a prompt `(T, D)`, each of which is the next token."""
        cache, token, outputs = compress(self.prompt(tokens[:-1]), settings), tokens[-1], []
        for _ in range(count):
            cache, token = self.step(cache, token)
            outputs.append(token)
        return np.array(outputs)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
