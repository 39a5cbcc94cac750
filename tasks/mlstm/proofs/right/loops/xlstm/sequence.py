"""Sequences of the mLSTM cell: every token of every chunk is a step."""

import numpy as np

from .cell import begin, run
from .gates import log_forget_gate
from .inputs import Inputs


def log_decay(log_input, log_forget):
    log_input, log_forget = np.array(log_input, dtype=float), np.array(log_forget, dtype=float)
    if log_input.shape != log_forget.shape or not log_input.shape:
        raise ValueError("gates of different shapes")
    length = log_input.shape[-1]
    result = np.full((*log_input.shape, length), -np.inf)
    for t in range(length):
        for s in range(t + 1):
            result[..., t, s] = log_input[..., s] + log_forget[..., s + 1 : t + 1].sum(axis=-1)
    return result


def parallel(query, key, value, input_gate, forget_gate, forget="sigmoid"):
    return chunkwise(query, key, value, input_gate, forget_gate, 1, None, forget)[0]


def chunkwise(query, key, value, input_gate, forget_gate, chunk, state=None, forget="sigmoid"):
    inputs = Inputs.of(query, key, value, input_gate, forget_gate)
    if not inputs.input_gate.shape or chunk < 1:
        raise ValueError("no sequence, or no chunk")
    state = begin(inputs, state, inputs.input_gate.shape[:-1])
    log_forget = log_forget_gate(inputs.forget_gate, forget)
    return run(inputs, log_forget, state) if inputs.input_gate.shape[-1] else (np.zeros(inputs.value.shape), state)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
