"""The gated delta rule (Yang et al., 2024)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .features import unit
from .inputs import Inputs
from .memory import checked


def _scale(scale: float | None, width: int) -> float:
    return 1.0 / math.sqrt(width) if scale is None else float(scale)


def _check_chunk(chunk: int) -> None:
    if chunk < 1:
        raise ValueError(f"a chunk must have at least one token, not {chunk}")


def step(
    state: Any, query: Any, key: Any, value: Any, log_decay: Any, beta: Any, scale: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The output of one token and the state after it."""
    given = Inputs.of(query, key, value, log_decay, beta)
    width = given.key.shape[-1]
    state = checked(state, (*given.value.shape, width))
    query, key = unit(given.query), unit(given.key)
    state = state * np.exp(given.log_decay)[..., None, None]
    held = np.einsum("...vk,...k->...v", state, key)
    written = given.beta[..., None] * (given.value - held)
    state = state + written[..., :, None] * key[..., None, :]
    return _scale(scale, width) * np.einsum("...vk,...k->...v", state, query), state


def _ratios(log_decay: np.ndarray) -> np.ndarray:
    """Gamma of (3), (..., T, T): exponentials of sums of the logarithms between two tokens."""
    size = log_decay.shape[-1]
    after = np.tri(size, k=-1, dtype=bool)  # [i, s]: token i comes after s
    sums = np.cumsum(np.where(after, log_decay[..., :, None], 0.0), axis=-2)
    return np.where(np.tri(size, dtype=bool), np.exp(sums), 0.0)


def _transform(key: np.ndarray, ratios: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """(6) for keys of length 1, by forward substitution."""
    size = key.shape[-2]
    overlap = beta[..., :, None] * ratios * (key @ np.swapaxes(key, -1, -2))
    result = np.zeros(overlap.shape)
    for row in range(size):
        result[..., row, row] = beta[..., row]
        if row:
            result[..., row, :row] = -(overlap[..., row, None, :row] @ result[..., :row, :row])[..., 0, :]
    return result


def ut_transform(key: Any, log_decay: Any, beta: Any) -> np.ndarray:
    """The matrix that turns the differences of values into what one chunk writes."""
    given = Inputs.of(key, key, key, log_decay, beta, axes=1)
    if given.log_decay.shape[-1] == 0:
        raise ValueError("a chunk must have at least one token")
    return _transform(unit(given.key), _ratios(given.log_decay), given.beta)


def chunkwise(
    query: Any,
    key: Any,
    value: Any,
    log_decay: Any,
    beta: Any,
    chunk: int,
    state: Any = None,
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The outputs of a sequence and the state after it, chunk by chunk."""
    given = Inputs.of(query, key, value, log_decay, beta, axes=1)
    _check_chunk(chunk)
    *lead, length = given.log_decay.shape
    width = given.key.shape[-1]
    state = checked(state, (*lead, given.value.shape[-1], width))
    queries, keys = unit(given.query), unit(given.key)
    output = np.zeros(given.value.shape)
    for start in range(0, length, chunk):
        part = slice(start, min(start + chunk, length))
        q, k, v = queries[..., part, :], keys[..., part, :], given.value[..., part, :]
        decay = given.log_decay[..., part]
        gamma = np.exp(np.cumsum(decay, axis=-1))[..., None]
        ratios = _ratios(decay)
        before = np.swapaxes(state, -1, -2)
        written = _transform(k, ratios, given.beta[..., part]) @ (v - gamma * (k @ before))
        output[..., part, :] = gamma * (q @ before) + (ratios * (q @ np.swapaxes(k, -1, -2))) @ written
        last = ratios[..., -1, :, None]
        state = gamma[..., -1:, :] * state + np.swapaxes(last * written, -1, -2) @ k
    return _scale(scale, width) * output, state


def packed(
    query: Any,
    key: Any,
    value: Any,
    log_decay: Any,
    beta: Any,
    offsets: Any,
    chunk: int,
    states: Any = None,
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The outputs of sequences that follow each other in one array, and the state after each."""
    given = Inputs.of(query, key, value, log_decay, beta, axes=1)
    _check_chunk(chunk)
    *lead, length = given.log_decay.shape
    bounds = np.asarray(offsets)
    if bounds.ndim != 1 or len(bounds) < 2 or bounds.dtype.kind not in "iuf" or not np.all(np.mod(bounds, 1) == 0):
        raise ValueError("offsets must be at least two integers")
    bounds = [int(bound) for bound in bounds]
    if bounds[0] != 0 or bounds[-1] != length or any(b < a for a, b in zip(bounds, bounds[1:], strict=False)):
        raise ValueError(f"offsets must go from 0 to {length} and never fall")
    states = checked(states, (len(bounds) - 1, *lead, given.value.shape[-1], given.key.shape[-1]))
    output = np.zeros(given.value.shape)
    for place, (start, stop) in enumerate(zip(bounds, bounds[1:], strict=False)):
        output[..., start:stop, :], states[place] = chunkwise(
            given.query[..., start:stop, :],
            given.key[..., start:stop, :],
            given.value[..., start:stop, :],
            given.log_decay[..., start:stop],
            given.beta[..., start:stop],
            chunk,
            states[place],
            scale,
        )
    return output, states


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
