"""The gated delta rule (Yang et al., 2024), with W and U of the paper."""

from __future__ import annotations

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
    old = checked(state, inputs.value.shape + (width,))
    k, q = unit(inputs.key), unit(inputs.query)
    decayed = np.einsum("...,...vk->...vk", np.exp(inputs.log_decay), old)
    held = np.einsum("...vk,...k->...v", decayed, k)
    new = decayed + np.einsum("...,...v,...k->...vk", inputs.beta, inputs.value - held, k)
    output = np.einsum("...vk,...k->...v", new, q)
    return output * (1.0 / np.sqrt(width) if scale is None else scale), new


def _gamma(log_decay):
    """Ratios (3), each from the sum of the gates between its two tokens."""
    size = log_decay.shape[-1]
    ratios = np.zeros((*log_decay.shape, size))
    for s in range(size):
        ratios[..., s:, s] = np.exp(np.cumsum(log_decay[..., s:], axis=-1) - log_decay[..., s : s + 1])
    return ratios


def ut_transform(key: Any, log_decay: Any, beta: Any) -> np.ndarray:
    """The matrix that turns the differences of values into what one chunk writes."""
    inputs = Inputs.of(key, key, key, log_decay, beta, axes=1)
    k = unit(inputs.key)
    size = k.shape[-2]
    lower = np.einsum("...r,...rs,...rk,...sk->...rs", inputs.beta, _gamma(inputs.log_decay), k, k)
    lower *= np.tri(size, k=-1)
    inverse = np.broadcast_to(np.eye(size), lower.shape).copy()
    for r in range(1, size):
        inverse[..., r, :] -= np.einsum("...s,...sc->...c", lower[..., r, :r], inverse[..., :r, :])
    return inverse * inputs.beta[..., None, :]


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
    if chunk <= 0:
        raise ValueError("chunk must be positive")
    width = inputs.key.shape[-1]
    memory = checked(state, inputs.value.shape[:-2] + (inputs.value.shape[-1], width))
    q, k, v = unit(inputs.query), unit(inputs.key), inputs.value
    outputs = [np.zeros((*v.shape[:-2], 0, v.shape[-1]))]
    for start in range(0, v.shape[-2], chunk):
        stop = min(start + chunk, v.shape[-2])
        qc, kc, vc = q[..., start:stop, :], k[..., start:stop, :], v[..., start:stop, :]
        gates = inputs.log_decay[..., start:stop]
        ratios = _gamma(gates)
        whole = np.exp(gates.cumsum(axis=-1))
        matrix = ut_transform(kc, gates, inputs.beta[..., start:stop])
        u = matrix @ vc - matrix @ np.einsum("...c,...ck,...vk->...cv", whole, kc, memory)
        output = np.einsum("...c,...ck,...vk->...cv", whole, qc, memory)
        outputs.append(output + np.einsum("...cs,...ck,...sk,...sv->...cv", ratios, qc, kc, u))
        memory = whole[..., -1, None, None] * memory + np.einsum("...s,...sv,...sk->...vk", ratios[..., -1, :], u, kc)
    return np.concatenate(outputs, axis=-2) * (1.0 / np.sqrt(width) if scale is None else scale), memory


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
    if np.ndim(offsets) != 1 or len(offsets) < 2:
        raise ValueError("offsets must be a list of two or more")
    if any(int(each) != each for each in offsets):
        raise ValueError("offsets must be integers")
    offsets = [int(each) for each in offsets]
    length = inputs.log_decay.shape[-1]
    if offsets[0] or offsets[-1] != length or min(np.diff(offsets)) < 0:
        raise ValueError("offsets must rise from 0 to the number of tokens")
    shape = inputs.value.shape[:-2] + (inputs.value.shape[-1], inputs.key.shape[-1])
    states = checked(states, (len(offsets) - 1, *shape))
    outputs, last = [], []
    for n, state in enumerate(states):
        part = slice(offsets[n], offsets[n + 1])
        arrays = [each[..., part, :] for each in (inputs.query, inputs.key, inputs.value)]
        gates = [each[..., part] for each in (inputs.log_decay, inputs.beta)]
        output, memory = chunkwise(*arrays, *gates, chunk, state, scale)
        outputs.append(output)
        last.append(memory)
    return np.concatenate(outputs, axis=-2), np.stack(last)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
