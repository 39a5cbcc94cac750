"""The driver: a layer of several heads, run over whole sequences or token by token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cell import chunkwise, step
from .gates import sigmoid
from .state import State


@dataclass(frozen=True, eq=False)
class Layer:
    """Weights of H heads for inputs of size X: `(H, X, K)`, `(H, X, V)` and, for input and forget gate, `(H, X)`."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray  # (H, X, V), of the output gate
    input_gate: np.ndarray
    forget_gate: np.ndarray
    forget: str = "sigmoid"

    def run(self, inputs: np.ndarray, chunk: int = 64, state: State | None = None) -> tuple[np.ndarray, State]:
        """Outputs `(batch, T, H * V)` for inputs `(batch, T, X)`, and the state after them."""
        tokens = np.asarray(inputs, dtype=np.float64)[:, None]
        gates = [np.einsum("bhtx,hx->bht", tokens, each) for each in (self.input_gate, self.forget_gate)]
        projected = [tokens @ each for each in (self.query, self.key, self.value)]
        hidden, state = chunkwise(*projected, *gates, chunk, state, self.forget)
        hidden = sigmoid(tokens @ self.output) * hidden
        batch, heads, length, values = hidden.shape
        return np.moveaxis(hidden, 1, 2).reshape(batch, length, heads * values), state

    def decode(self, token: np.ndarray, state: State | None = None) -> tuple[np.ndarray, State]:
        """Outputs `(batch, H * V)` for one token of each sequence `(batch, X)`, and the state after it."""
        token = np.asarray(token, dtype=np.float64)
        gates = [token @ each.T for each in (self.input_gate, self.forget_gate)]
        projected = [np.einsum("bx,hxd->bhd", token, each) for each in (self.query, self.key, self.value)]
        hidden, state = step(state, *projected, *gates, self.forget)
        hidden = sigmoid(np.einsum("bx,hxd->bhd", token, self.output)) * hidden
        return hidden.reshape(len(token), -1), state


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
