"""The mLSTM cell over sequences: in parallel, and chunk by chunk."""

from __future__ import annotations

import numpy as np

from .gates import log_forget_gate
from .inputs import Inputs
from .state import State

_LOG2 = float(np.log(2.0))


def _weight(log_weight: np.ndarray, stabilizer: np.ndarray) -> np.ndarray:
    """exp(log_weight - stabilizer), 0 for a weight of 0 whatever the stabiliser is."""
    with np.errstate(invalid="ignore", under="ignore", over="ignore"):
        return np.where(np.isneginf(log_weight), 0.0, np.exp(log_weight - stabilizer))


def _times_exp(values: np.ndarray, logarithm: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """values * exp(logarithm) * 2**exponent, without overflow or underflow on the way."""
    logarithm = np.clip(logarithm, -4000.0, 4000.0)
    powers = np.rint(logarithm / _LOG2)
    with np.errstate(under="ignore", over="ignore"):
        return np.ldexp(values * np.exp(logarithm - powers * _LOG2), powers.astype(np.int64) + exponent)


def _unit(query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Queries divided by a power of 2 that makes their largest entry about 1, and its exponent, `(...)`."""
    exponent = np.frexp(np.max(np.abs(query), axis=-1))[1].astype(np.int64)
    return np.ldexp(query, -exponent[..., None]), exponent


def _read(
    overlap: np.ndarray, stabilizer: np.ndarray, exponent: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How to normalise numerators: a divisor, and the logarithm and the exponent of a factor for the quotient.

    `overlap` is n' . q without the factor 2**exponent of the query, which cancels where the overlap is above its lower bound.
    """
    size = np.abs(overlap)
    with np.errstate(divide="ignore"):
        above = np.log(size) + stabilizer + exponent * _LOG2 >= 0.0
    above &= size > 0.0
    return (
        np.where(above, size, 1.0),
        np.where(above, 0.0, stabilizer),
        np.where(above, 0, exponent),
    )


def _old(state: State | None, leading: tuple[int, ...], values: int, keys: int) -> tuple[State, np.ndarray]:
    """The state with zeros where nothing is stored, and the stabilisers with -inf where its arrays are all zeros.

    The latter matters if the stabiliser says much: beside memories of exp(1000) times zero, other weights are not negligible.
    """
    state = State.empty(leading, values, keys) if state is None else state.checked(leading, values, keys)
    stored = np.asarray(state.stabilizer) > -np.inf
    memory = np.where(stored[..., None, None], state.memory, 0.0)
    normalizer = np.where(stored[..., None], state.normalizer, 0.0)
    full = np.any(memory != 0.0, axis=(-2, -1)) | np.any(normalizer != 0.0, axis=-1)
    return State(memory, normalizer, np.array(state.stabilizer)), np.where(full, state.stabilizer, -np.inf)


def _running(terms: np.ndarray, high: np.ndarray, low: np.ndarray, lost: np.ndarray) -> None:
    """Add terms to sums high + low in place, with the rounding error kept in `low`; `lost` says where -inf was added."""
    gone = np.isneginf(terms)
    lost |= gone
    terms = np.where(gone, 0.0, terms)
    total = high + terms
    part = total - high
    low += (high - (total - part)) + (terms - part)
    high[...] = total


def log_decay(log_input: np.ndarray, log_forget: np.ndarray) -> np.ndarray:
    """Logarithms of the weights `(..., T, T)` with which token t (row) still holds what token s (column) wrote."""
    log_input = np.asarray(log_input, dtype=np.float64)
    log_forget = np.asarray(log_forget, dtype=np.float64)
    if log_input.shape != log_forget.shape or log_input.ndim == 0:
        raise ValueError(f"the gates {log_input.shape} and {log_forget.shape} must have one shape with a time axis")
    length = log_input.shape[-1]
    result = np.full((*log_input.shape, length), -np.inf)
    # Every column has its own sum from its own start, so that nothing has to be subtracted.
    lost = np.isneginf(log_input)
    high = np.where(lost, 0.0, log_input)
    low = np.zeros_like(high)
    for t in range(length):
        _running(log_forget[..., t, None], high[..., :t], low[..., :t], lost[..., :t])
        now = slice(0, t + 1)
        result[..., t, now] = np.where(lost[..., now], -np.inf, high[..., now] + low[..., now])
    return result


def _carried(log_forget: np.ndarray, stabilizer: np.ndarray) -> np.ndarray:
    """b_t + m for every t, `(..., T)`."""
    lost = np.isneginf(stabilizer)
    high = np.where(lost, 0.0, stabilizer)
    low = np.zeros_like(high)
    result = np.empty_like(log_forget)
    for t in range(log_forget.shape[-1]):
        _running(log_forget[..., t], high, low, lost)
        result[..., t] = np.where(lost, -np.inf, high + low)
    return result


def _sequence(query, key, value, input_gate, forget_gate, forget: str) -> tuple[Inputs, np.ndarray]:
    """Checked inputs with scaled keys, and the logarithms of the forget gates."""
    inputs = Inputs.of(query, key, value, input_gate, forget_gate)
    log_forget = np.asarray(log_forget_gate(inputs.forget_gate, forget))
    if inputs.query.ndim < 2:
        raise ValueError(f"a sequence needs a time axis, but the query has the shape {inputs.query.shape}")
    scaled = inputs.key / np.sqrt(inputs.key.shape[-1])
    return Inputs(inputs.query, scaled, inputs.value, inputs.input_gate, inputs.forget_gate), log_forget


def _chunk(
    inputs: Inputs, log_forget: np.ndarray, state: State, inner: np.ndarray
) -> tuple[np.ndarray, State, np.ndarray]:
    """Equations (10) to (12): hidden values, the state with memories times exp(-inner), and the new `inner`."""
    decay = log_decay(inputs.input_gate, log_forget)
    largest = np.max(decay, axis=-1)
    carried = _carried(log_forget, inner)
    stabilizer = np.maximum(carried, largest)
    finite = np.where(np.isneginf(stabilizer), 0.0, stabilizer)

    query, exponent = _unit(inputs.query)
    scores = (query @ np.swapaxes(inputs.key, -1, -2)) * _weight(decay, finite[..., None])
    before = _weight(carried, finite)
    overlap = scores.sum(axis=-1) + before * np.einsum("...tk,...k->...t", query, state.normalizer)
    divisor, logarithm, power = _read(overlap, finite, exponent)
    old = query @ np.swapaxes(state.memory, -1, -2)
    hidden = (scores / divisor[..., None]) @ inputs.value + (before / divisor)[..., None] * old
    hidden = _times_exp(hidden, logarithm[..., None], power[..., None])
    hidden = np.where(np.isneginf(stabilizer)[..., None], 0.0, hidden)

    weights = _weight(decay[..., -1, :], finite[..., -1, None])
    kept = before[..., -1]
    memory = np.swapaxes(inputs.value * weights[..., None], -1, -2) @ inputs.key + kept[..., None, None] * state.memory
    normalizer = np.einsum("...s,...sk->...k", weights, inputs.key) + kept[..., None] * state.normalizer
    outer = np.maximum(_carried(log_forget, state.stabilizer)[..., -1], largest[..., -1])
    return hidden, State(memory, normalizer, outer), stabilizer[..., -1]


def parallel(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    input_gate: np.ndarray,
    forget_gate: np.ndarray,
    forget: str = "sigmoid",
) -> np.ndarray:
    """Hidden values `(..., T, V)` of a whole sequence that begins with an empty memory."""
    inputs, log_forget = _sequence(query, key, value, input_gate, forget_gate, forget)
    if inputs.query.shape[-2] == 0:
        return np.zeros(inputs.value.shape)
    state = State.empty(inputs.query.shape[:-2], inputs.value.shape[-1], inputs.key.shape[-1])
    return _chunk(inputs, log_forget, state, state.stabilizer)[0]


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
    """Hidden values `(..., T, V)` of a sequence that is taken chunk by chunk, and the state after it."""
    inputs, log_forget = _sequence(query, key, value, input_gate, forget_gate, forget)
    if chunk < 1:
        raise ValueError(f"a chunk has at least one token, not {chunk}")
    *leading, length, keys = inputs.query.shape
    state, inner = _old(state, tuple(leading), inputs.value.shape[-1], keys)
    hidden = np.zeros(inputs.value.shape)
    for start in range(0, length, chunk):
        part = slice(start, start + chunk)
        some = Inputs(
            inputs.query[..., part, :],
            inputs.key[..., part, :],
            inputs.value[..., part, :],
            inputs.input_gate[..., part],
            inputs.forget_gate[..., part],
        )
        hidden[..., part, :], state, inner = _chunk(some, log_forget[..., part], state, inner)
    if length:
        # From the stabilisers that were used inside to those of (5), which differ only if zeros were passed in.
        factor = _weight(inner, np.where(np.isneginf(state.stabilizer), 0.0, state.stabilizer))
        state = State(
            state.memory * factor[..., None, None], state.normalizer * factor[..., None], np.array(state.stabilizer)
        )
    return hidden, state


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
