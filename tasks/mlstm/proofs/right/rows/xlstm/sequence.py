"""The mLSTM cell over sequences. A state is written like one more token, before the first one, with the gate of its stabiliser."""

import numpy as np

from .gates import log_forget_gate
from .inputs import Inputs
from .state import State


def _safe(level):
    return np.maximum(level, np.finfo(float).min)


def _fraction(numerator, overlap, level):
    """Numerator over the larger one of |overlap| and exp(-level), by logarithms."""
    with np.errstate(divide="ignore"):
        size = np.maximum(np.log(np.abs(overlap)), -_safe(level))
    size = np.where(np.isneginf(size), 0.0, size)[..., None]
    # exp(-size) alone can overflow, where every numerator is 0.
    with np.errstate(divide="ignore"):
        return np.sign(numerator) * np.exp(np.log(np.abs(numerator)) - size)


def _several(tokens, log_forget, state):
    """Hidden values of all tokens of a chunk, of at least one, and the state after it."""
    key = tokens.key / tokens.key.shape[-1] ** 0.5
    decay = log_decay(tokens.input_gate, log_forget)
    before = np.cumsum(log_forget, axis=-1) + state.stabilizer[..., None]
    logs = np.concatenate([before[..., None], decay], axis=-1)
    level = logs.max(axis=-1)
    weights = np.exp(logs - _safe(level)[..., None])
    first, rest = weights[..., 0], weights[..., 1:]
    overlaps = np.einsum("...tk,...sk->...ts", tokens.query, key) * rest
    old = np.einsum("...vk,...tk->...tv", state.memory, tokens.query) * first[..., None]
    numerator = old + np.einsum("...ts,...sv->...tv", overlaps, tokens.value)
    overlap = overlaps.sum(axis=-1) + first * np.einsum("...k,...tk->...t", state.normalizer, tokens.query)
    weighted = rest[..., -1, :, None] * key
    memory = np.einsum("...sv,...sk->...vk", tokens.value, weighted)
    after = State(
        memory + first[..., -1, None, None] * state.memory,
        weighted.sum(axis=-2) + first[..., -1, None] * state.normalizer,
        level[..., -1],
    )
    return _fraction(numerator, overlap, level), after


def log_decay(log_input, log_forget):
    log_input, log_forget = np.asarray(log_input, np.float64), np.asarray(log_forget, np.float64)
    if log_input.ndim < 1 or log_input.shape != log_forget.shape:
        raise ValueError(f"{log_input.shape} {log_forget.shape}")
    length = log_input.shape[-1]
    result = np.full((*log_input.shape, length), -np.inf)
    row = np.zeros((*log_input.shape[:-1], 0))
    for t in range(length):  # each row is the one before, after one more gate, and the token itself
        row = np.concatenate([row + log_forget[..., t : t + 1], log_input[..., t : t + 1]], axis=-1)
        result[..., t, : t + 1] = row
    return result


def parallel(query, key, value, input_gate, forget_gate, forget="sigmoid"):
    return chunkwise(query, key, value, input_gate, forget_gate, 16, None, forget)[0]


def chunkwise(query, key, value, input_gate, forget_gate, chunk, state=None, forget="sigmoid"):
    tokens = Inputs.of(query, key, value, input_gate, forget_gate)
    if chunk < 1 or tokens.query.ndim < 2:
        raise ValueError("chunks have tokens")
    sizes = tokens.input_gate.shape[:-1], tokens.value.shape[-1], tokens.key.shape[-1]
    state = (state or State.empty(*sizes)).checked(*sizes)
    log_forget = log_forget_gate(tokens.forget_gate, forget)
    hidden = [np.zeros((*sizes[0], 0, sizes[1]))]
    for start in range(0, tokens.input_gate.shape[-1], chunk):
        at = np.s_[..., start : start + chunk]
        wide = np.s_[..., start : start + chunk, :]
        part = Inputs(
            tokens.query[wide], tokens.key[wide], tokens.value[wide], tokens.input_gate[at], tokens.forget_gate[at]
        )
        here, state = _several(part, log_forget[at], state)
        hidden.append(here)
    return np.concatenate(hidden, axis=-2), state


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
