"""The mLSTM cell (Beck et al. 2024), token by token: a matrix memory with exponential gates."""

from __future__ import annotations

import numpy as np

from .inputs import Inputs
from .sequence import chunkwise
from .state import State


def step(
    state: State | None,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    input_gate: np.ndarray,
    forget_gate: np.ndarray,
    forget: str = "sigmoid",
) -> tuple[np.ndarray, State]:
    """Hidden values `(..., V)` of one token, and the state after it."""
    # One token is a sequence of one.
    query, key, value, input_gate, forget_gate = (
        np.asarray(each, dtype=np.float64) for each in (query, key, value, input_gate, forget_gate)
    )
    Inputs.of(query, key, value, input_gate, forget_gate)
    hidden, state = chunkwise(
        query[..., None, :],
        key[..., None, :],
        value[..., None, :],
        input_gate[..., None],
        forget_gate[..., None],
        1,
        state,
        forget,
    )
    return hidden[..., 0, :], state


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
