"""The mLSTM cell: a token is a sequence of one."""

from .inputs import Inputs
from .sequence import chunkwise


def step(state, query, key, value, input_gate, forget_gate, forget="sigmoid"):
    token = Inputs.of(query, key, value, input_gate, forget_gate)
    rows = [each[..., None, :] for each in (token.query, token.key, token.value)]
    gates = token.input_gate[..., None], token.forget_gate[..., None]
    hidden, after = chunkwise(*rows, *gates, 1, state, forget)
    return hidden[..., 0, :], after


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
