"""The driver: prompts of different lengths, and then one token after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rule import packed, step


@dataclass(frozen=True, eq=False)
class Layer:
    """One head.

    to_query, to_key: `(D, K)`. to_value: `(D, V)`. to_decay, to_beta: `(D,)`.
    """

    to_query: np.ndarray
    to_key: np.ndarray
    to_value: np.ndarray
    to_decay: np.ndarray
    to_beta: np.ndarray

    def parts(self, tokens: np.ndarray) -> tuple[np.ndarray, ...]:
        """Queries, keys, values and gates of tokens `(..., D)`."""
        log_decay = -np.log1p(np.exp(tokens @ self.to_decay))
        beta = 1.0 / (1.0 + np.exp(-(tokens @ self.to_beta)))
        return tokens @ self.to_query, tokens @ self.to_key, tokens @ self.to_value, log_decay, beta

    def prefill(self, prompts: list[np.ndarray], chunk: int = 64) -> tuple[list[np.ndarray], np.ndarray]:
        """Outputs for each prompt `(T_n, D)`, and the states after them, `(N, V, K)`."""
        offsets = np.cumsum([0, *map(len, prompts)])
        output, states = packed(*self.parts(np.concatenate(prompts)), offsets, chunk)
        return np.split(output, offsets[1:-1]), states

    def decode(self, tokens: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs for one token `(N, D)` of each sequence, and the states after it."""
        return step(states, *self.parts(tokens))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
