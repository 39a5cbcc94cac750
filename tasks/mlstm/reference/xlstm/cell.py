"""The mLSTM cell (Beck et al. 2024), token by token: a matrix memory with exponential gates."""

from __future__ import annotations

import numpy as np

from .gates import log_forget_gate
from .inputs import Inputs
from .state import State


def scaled_weights(exponents: np.ndarray, stabilizer: np.ndarray) -> np.ndarray:
    """`exp(exponents - stabilizer)`, and 0 where both are -inf: nothing is stored there."""
    return np.exp(exponents - np.where(stabilizer > -np.inf, stabilizer, 0.0))


def read_out(numerator: np.ndarray, product: np.ndarray, stabilizer: np.ndarray) -> np.ndarray:
    """Hidden values (7) from the memory's and the normaliser's products with the query."""
    overlap = np.abs(product)
    with np.errstate(over="ignore"):
        bounded = overlap < np.exp(-stabilizer)
    # exp(stabilizer) in two factors: it can be too small for a number where the hidden value is not.
    root = np.exp(np.where(bounded, stabilizer, 0.0) / 2.0)[..., None]
    # Only a query without any overlap leaves 0 to divide by: its numerator is 0, too.
    return numerator * root * root / np.where(bounded | (overlap == 0.0), 1.0, overlap)[..., None]


def step(
    state: State | None,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    input_gate: np.ndarray,
    forget_gate: np.ndarray,
    forget: str = "sigmoid",
) -> tuple[np.ndarray, State]:
    """Hidden values `(..., V)` of one token, and the state after it, by equations (5) to (7)."""
    token = Inputs.of(query, key, value, input_gate, forget_gate)
    sizes = token.query.shape[:-1], token.value.shape[-1], token.query.shape[-1]
    before = State.empty(*sizes) if state is None else state.checked(*sizes)
    scaled = token.key / np.sqrt(sizes[2])

    kept = log_forget_gate(token.forget_gate, forget) + before.stabilizer
    stabilizer = np.maximum(kept, token.input_gate)
    old, new = scaled_weights(kept, stabilizer)[..., None], scaled_weights(token.input_gate, stabilizer)[..., None]
    normalizer = old * before.normalizer + new * scaled
    written = (new * token.value)[..., :, None] * scaled[..., None, :]
    memory = old[..., None] * before.memory + written

    numerator = np.einsum("...vk,...k->...v", memory, token.query)
    product = np.sum(normalizer * token.query, axis=-1)
    return read_out(numerator, product, stabilizer), State(memory, normalizer, stabilizer)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
