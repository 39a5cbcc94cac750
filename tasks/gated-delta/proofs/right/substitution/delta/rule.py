"""The gated delta rule (Yang et al., 2024), with forward substitution for what is written."""

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
    k, q = unit(inputs.key), unit(inputs.query)
    alpha, strength = np.exp(inputs.log_decay)[..., None, None], inputs.beta[..., None, None]
    transition = alpha * (np.eye(width) - strength * k[..., :, None] * k[..., None, :])
    memory = memory @ transition + strength * inputs.value[..., :, None] * k[..., None, :]
    return (width**-0.5 if scale is None else scale) * np.sum(memory * q[..., None, :], axis=-1), memory


def ut_transform(key: Any, log_decay: Any, beta: Any) -> np.ndarray:
    """The matrix that turns the differences of values into what one chunk writes."""
    inputs = Inputs.of(key, key, key, log_decay, beta, axes=1)
    k, strength = unit(inputs.key), inputs.beta
    size = k.shape[-2]
    result = np.zeros((*strength.shape, size))
    for r in range(size):
        result[..., r, r] = strength[..., r]
        for s in range(r):
            between = np.exp(np.sum(inputs.log_decay[..., s + 1 : r + 1], axis=-1))
            factor = strength[..., r] * between * np.sum(k[..., r, :] * k[..., s, :], axis=-1)
            result[..., r, :] -= factor[..., None] * result[..., s, :]
    return result


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
        raise ValueError("chunk must be 1 or more")
    *lead, length, width = inputs.key.shape
    memory = checked(state, (*lead, inputs.value.shape[-1], width))
    output = np.empty(inputs.value.shape)
    for start in range(0, length, chunk):
        stop = min(start + chunk, length)
        k, q = unit(inputs.key[..., start:stop, :]), unit(inputs.query[..., start:stop, :])
        gates = inputs.log_decay[..., start:stop]
        transform = ut_transform(k, gates, inputs.beta[..., start:stop])
        wanted = np.empty((*lead, stop - start, inputs.value.shape[-1]))
        for r in range(stop - start):
            gamma = np.exp(np.sum(gates[..., : r + 1], axis=-1))[..., None]
            wanted[..., r, :] = inputs.value[..., start + r, :] - gamma * np.sum(memory * k[..., r, None, :], axis=-1)
        written = transform @ wanted
        for r in range(stop - start):
            current = np.exp(np.sum(gates[..., : r + 1], axis=-1))[..., None, None] * memory
            for s in range(r + 1):
                ratio = np.exp(np.sum(gates[..., s + 1 : r + 1], axis=-1))[..., None, None]
                current = current + ratio * written[..., s, :, None] * k[..., s, None, :]
            output[..., start + r, :] = np.sum(current * q[..., r, None, :], axis=-1)
        memory = current
    return output * (width**-0.5 if scale is None else scale), memory


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
    bounds = np.array(offsets)
    if bounds.ndim != 1 or len(bounds) < 2 or not np.issubdtype(bounds.dtype, np.integer):
        raise ValueError(f"bad offsets {offsets}")
    bounds = bounds.astype(np.int64)
    if bounds[0] != 0 or bounds[-1] != inputs.beta.shape[-1] or np.any(bounds[1:] < bounds[:-1]):
        raise ValueError(f"bad offsets {offsets}")
    memory = checked(states, (len(bounds) - 1, *inputs.key.shape[:-2], inputs.value.shape[-1], inputs.key.shape[-1]))
    output = np.zeros(inputs.value.shape)
    for n, (first, last) in enumerate(pairwise(bounds.tolist())):
        rows = [each[..., first:last, :] for each in (inputs.query, inputs.key, inputs.value)]
        gates = inputs.log_decay[..., first:last], inputs.beta[..., first:last]
        output[..., first:last, :], memory[n] = chunkwise(*rows, *gates, chunk, memory[n], scale)
    return output, memory
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
