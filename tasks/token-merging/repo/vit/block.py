"""One block: attention, merging, MLP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .matching import Matching
from .merging import attend, match, merge


def normalise(x: np.ndarray) -> np.ndarray:
    """Tokens with mean 0 and variance 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-6)


@dataclass(frozen=True, eq=False)
class Block:
    """Weights of the attention `(H, C, d)`, of its output `(H, d, C)`, and of the MLP `(C, F)` and `(F, C)`."""

    to_queries: np.ndarray
    to_keys: np.ndarray
    to_values: np.ndarray
    to_output: np.ndarray
    up: np.ndarray
    down: np.ndarray

    def __call__(self, x: np.ndarray, size: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray, Matching]:
        """Tokens and sizes after the block, and what it merged. The first token is the class token."""
        inner = normalise(x)
        queries, keys, values = (inner @ matrix for matrix in (self.to_queries, self.to_keys, self.to_values))
        x = x + np.einsum("htd,hdc->tc", attend(queries, keys, values, size), self.to_output)
        matching = match(keys.mean(axis=0), r, protected=1)
        x, size = merge(matching, x, size)
        return x + np.maximum(normalise(x) @ self.up, 0.0) @ self.down, size, matching


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
