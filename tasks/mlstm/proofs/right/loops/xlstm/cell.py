"""The mLSTM cell, one sequence and one token at a time."""

import math
from itertools import product

import numpy as np

from .gates import log_forget_gate
from .inputs import Inputs
from .state import State


class Memory:
    """What one sequence stores."""

    def __init__(self, memory, normalizer, stabilizer):
        self.level = float(stabilizer)
        empty = math.isinf(self.level)
        self.memory = np.zeros_like(memory) if empty else np.array(memory)
        self.normalizer = np.zeros_like(normalizer) if empty else np.array(normalizer)

    def write(self, key, value, log_input, log_forget):
        kept = log_forget + self.level
        self.level = max(kept, log_input)
        old = math.exp(kept - self.level) if kept > -math.inf else 0.0
        new = math.exp(log_input - self.level) if log_input > -math.inf else 0.0
        self.memory = old * self.memory + new * np.outer(value, key)
        self.normalizer = old * self.normalizer + new * key

    def read(self, query):
        if self.level == -math.inf or not query.any():
            return np.zeros(len(self.memory))
        overlap = abs(float(self.normalizer @ query))
        if self.level < -700.0:  # the bound may be no number, and is the larger one
            return self.memory @ query * math.exp(self.level / 2.0) * math.exp(self.level / 2.0)
        return self.memory @ query / max(overlap, math.exp(-self.level))


def run(inputs, log_forget, state):
    """All tokens of sequences `(..., T, K)`, from a state that is checked."""
    leading = inputs.input_gate.shape[:-1]
    hidden = np.zeros(inputs.value.shape)
    memory, normalizer = np.zeros(state.memory.shape), np.zeros(state.normalizer.shape)
    stabilizer = np.zeros(leading)
    for place in product(*map(range, leading)):
        stored = Memory(state.memory[place], state.normalizer[place], state.stabilizer[place])
        for t in range(inputs.input_gate.shape[-1]):
            here = (*place, t)
            key = inputs.key[here] / math.sqrt(inputs.key.shape[-1])
            stored.write(key, inputs.value[here], float(inputs.input_gate[here]), float(log_forget[here]))
            hidden[here] = stored.read(inputs.query[here])
        memory[place], normalizer[place], stabilizer[place] = stored.memory, stored.normalizer, stored.level
    return hidden, State(memory, normalizer, stabilizer)


def begin(inputs, state, leading):
    sizes = leading, inputs.value.shape[-1], inputs.key.shape[-1]
    return State.empty(*sizes) if state is None else state.checked(*sizes)


def step(state, query, key, value, input_gate, forget_gate, forget="sigmoid"):
    token = Inputs.of(query, key, value, input_gate, forget_gate)
    state = begin(token, state, token.input_gate.shape)
    features = (each[..., None, :] for each in (token.query, token.key, token.value))
    longer = Inputs(*features, token.input_gate[..., None], token.forget_gate[..., None])
    hidden, state = run(longer, log_forget_gate(longer.forget_gate, forget), state)
    return hidden[..., 0, :], state


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
