"""The gated delta rule (Yang et al., 2024)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .features import unit
from .inputs import Inputs
from .memory import checked


def step(
    state: Any, query: Any, key: Any, value: Any, log_decay: Any, beta: Any, scale: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The output of one token and the state after it."""
    inputs = Inputs.of(query, key, value, log_decay, beta)
    width = inputs.key.shape[-1]
    memory = checked(state, (*inputs.value.shape, width))
    factor = width**-0.5 if scale is None else scale
    direction, asked = unit(inputs.key)[..., None], unit(inputs.query)[..., None]
    memory = np.exp(inputs.log_decay)[..., None, None] * memory
    missing = inputs.value[..., None] - memory @ direction
    memory = memory + inputs.beta[..., None, None] * missing * np.swapaxes(direction, -1, -2)
    return factor * (memory @ asked)[..., 0], memory


def _ratios(log_decay: np.ndarray) -> np.ndarray:
    """Gamma of (3), from differences of logarithms: gamma itself underflows."""
    total = np.cumsum(log_decay, axis=-1)
    difference = total[..., :, None] - total[..., None, :]
    return np.exp(np.where(np.tri(total.shape[-1], dtype=bool), difference, -np.inf))


def ut_transform(key: Any, log_decay: Any, beta: Any) -> np.ndarray:
    """The matrix (6) that turns the differences of values into what one chunk writes."""
    inputs = Inputs.of(key, key, key, log_decay, beta, axes=1)
    rows, identity = unit(inputs.key), np.eye(inputs.key.shape[-2])
    overlap = _ratios(inputs.log_decay) * (rows @ np.swapaxes(rows, -1, -2))
    system = identity + np.tril(inputs.beta[..., None] * overlap, -1)
    return np.linalg.solve(system, inputs.beta[..., None] * identity)


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
    inputs = Inputs.of(query, key, value, log_decay, beta, axes=1)
    if chunk < 1:
        raise ValueError(f"a chunk must have one token or more, not {chunk}")
    *lead, length, width = inputs.key.shape
    memory = checked(state, (*lead, inputs.value.shape[-1], width))
    factor = width**-0.5 if scale is None else scale
    output = np.zeros(inputs.value.shape)
    for start in range(0, length, chunk):
        part = slice(start, start + chunk)
        gates, betas = inputs.log_decay[..., part], inputs.beta[..., part]
        asked, rows = unit(inputs.query[..., part, :]), unit(inputs.key[..., part, :])
        gamma, ratios = np.exp(np.cumsum(gates, axis=-1))[..., None], _ratios(gates)
        held = gamma * (rows @ np.swapaxes(memory, -1, -2))
        written = ut_transform(rows, gates, betas) @ (inputs.value[..., part, :] - held)
        near = (ratios * (asked @ np.swapaxes(rows, -1, -2))) @ written
        output[..., part, :] = factor * (gamma * (asked @ np.swapaxes(memory, -1, -2)) + near)
        added = np.swapaxes(written, -1, -2) @ (ratios[..., -1, :, None] * rows)
        memory = gamma[..., -1:, :] * memory + added
    return output, memory


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
    inputs = Inputs.of(query, key, value, log_decay, beta, axes=1)
    *lead, length, width = inputs.key.shape
    bounds = np.asarray(offsets)
    if bounds.ndim != 1 or bounds.size < 2 or bounds.dtype.kind not in "iu":
        raise ValueError(f"offsets must be two or more integers, not {offsets!r}")
    bounds = bounds.tolist()
    if bounds[0] != 0 or bounds[-1] != length or bounds != sorted(bounds):
        raise ValueError(f"offsets must rise from 0 to {length}, not {bounds}")
    memories = checked(states, (len(bounds) - 1, *lead, inputs.value.shape[-1], width))
    output = np.zeros(inputs.value.shape)
    for n, (start, stop) in enumerate(pairwise(bounds)):
        output[..., start:stop, :], memories[n] = chunkwise(
            inputs.query[..., start:stop, :],
            inputs.key[..., start:stop, :],
            inputs.value[..., start:stop, :],
            inputs.log_decay[..., start:stop],
            inputs.beta[..., start:stop],
            chunk,
            memories[n],
            scale,
        )
    return output, memories


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
