"""The driver: a layer of several heads, run over whole sequences or token by token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cell import step
from .gates import sigmoid
from .heads import gate, merge, project
from .sequence import chunkwise
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
        inputs = np.asarray(inputs, dtype=np.float64)
        hidden, state = chunkwise(*self._arguments(inputs), chunk, state, self.forget)
        return merge(sigmoid(project(inputs, self.output)) * hidden), state

    def decode(self, token: np.ndarray, state: State | None = None) -> tuple[np.ndarray, State]:
        """Outputs `(batch, H * V)` for one token of each sequence `(batch, X)`, and the state after it."""
        token = np.asarray(token, dtype=np.float64)
        hidden, state = step(state, *self._arguments(token), self.forget)
        return merge(sigmoid(project(token, self.output)) * hidden), state

    def _arguments(self, inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        """What a cell reads: query, key, value, and the pre-activations of both gates."""
        features = (project(inputs, each) for each in (self.query, self.key, self.value))
        return (*features, *(gate(inputs, each) for each in (self.input_gate, self.forget_gate)))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
