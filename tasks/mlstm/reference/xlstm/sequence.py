"""The mLSTM cell over sequences: in parallel, and chunk by chunk."""

from __future__ import annotations

import numpy as np

from .cell import read_out, scaled_weights
from .gates import log_forget_gate
from .inputs import Inputs
from .state import State


def log_decay(log_input: np.ndarray, log_forget: np.ndarray) -> np.ndarray:
    """Logarithms of the weights (8), `(..., T, T)`: token t is the row, token s the column.

    Every entry is a sum of its own gates. Differences of one cumulative sum would be NaN after a gate of -inf, and
    lose all digits after a large one.
    """
    log_input, log_forget = np.asarray(log_input, dtype=np.float64), np.asarray(log_forget, dtype=np.float64)
    if log_input.ndim == 0 or log_input.shape != log_forget.shape:
        raise ValueError(f"gates {log_input.shape} and {log_forget.shape} must have the same shape (..., T)")
    length = log_input.shape[-1]
    later = np.tri(length, length, -1, dtype=bool)
    between = np.cumsum(np.where(later, log_forget[..., :, None], 0.0), axis=-2)
    return np.where(later | np.eye(length, dtype=bool), between + log_input[..., None, :], -np.inf)


def parallel(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    input_gate: np.ndarray,
    forget_gate: np.ndarray,
    forget: str = "sigmoid",
) -> np.ndarray:
    """Hidden values `(..., T, V)` of a whole sequence that begins with an empty memory, by equation (9)."""
    tokens = Inputs.of(query, key, value, input_gate, forget_gate)
    logs = log_decay(tokens.input_gate, log_forget_gate(tokens.forget_gate, forget))
    stabilizer = np.max(logs, axis=-1, initial=-np.inf)
    scores = tokens.query @ np.swapaxes(tokens.key, -1, -2) / np.sqrt(tokens.query.shape[-1])
    scores = scores * scaled_weights(logs, stabilizer[..., None])
    return read_out(scores @ tokens.value, scores.sum(axis=-1), stabilizer)


def chunkwise(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    input_gate: np.ndarray,
    forget_gate: np.ndarray,
    chunk: int,
    state: State | None = None,
    forget: str = "sigmoid",
) -> tuple[np.ndarray, State]:
    """Hidden values `(..., T, V)` of a sequence taken chunk by chunk, and the state after it, by (10) to (12)."""
    tokens = Inputs.of(query, key, value, input_gate, forget_gate)
    if tokens.input_gate.ndim == 0 or chunk < 1:
        raise ValueError(f"a sequence must have a time axis, and a chunk at least one token, not {chunk}")
    *leading, length, keys = tokens.query.shape
    sizes = tuple(leading), tokens.value.shape[-1], keys
    state = State.empty(*sizes) if state is None else state.checked(*sizes)
    log_forget = log_forget_gate(tokens.forget_gate, forget)

    hidden = np.empty(tokens.value.shape)
    for start in range(0, length, chunk):
        part = slice(start, start + chunk)
        q, k, v = (each[..., part, :] for each in (tokens.query, tokens.key, tokens.value))
        k = k / np.sqrt(keys)
        logs = log_decay(tokens.input_gate[..., part], log_forget[..., part])
        kept = np.cumsum(log_forget[..., part], axis=-1) + state.stabilizer[..., None]
        stabilizer = np.maximum(kept, logs.max(axis=-1))
        weights, old = scaled_weights(logs, stabilizer[..., None]), scaled_weights(kept, stabilizer)

        scores = (q @ np.swapaxes(k, -1, -2)) * weights
        numerator = scores @ v + old[..., None] * (q @ np.swapaxes(state.memory, -1, -2))
        product = scores.sum(axis=-1) + old * np.einsum("...tk,...k->...t", q, state.normalizer)
        hidden[..., part, :] = read_out(numerator, product, stabilizer)

        # The state after a chunk is what its last token sees.
        last, left = weights[..., -1, :, None], old[..., -1, None]
        memory = left[..., None] * state.memory + np.swapaxes(last * v, -1, -2) @ k
        normalizer = left * state.normalizer + np.sum(last * k, axis=-2)
        state = State(memory, normalizer, stabilizer[..., -1])
    return hidden, state


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
