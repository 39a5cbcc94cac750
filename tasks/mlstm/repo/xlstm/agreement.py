"""How far the forms of the cell differ: a check for settings and lengths of one's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cell import step
from .inputs import Inputs
from .sequence import chunkwise, parallel
from .settings import Settings


@dataclass(frozen=True)
class Agreement:
    """Largest differences from the cell that runs token by token, in units of the largest hidden value or stored number."""

    parallel: float
    chunkwise: float
    state: float  # of the memory after the last token, between steps and chunks


def agreement(settings: Settings, tokens: Inputs) -> Agreement:
    """Run tokens `(..., T)` with T >= 1 in all three forms. The parallel one needs T x T numbers for each sequence."""
    arguments = (tokens.query, tokens.key, tokens.value, tokens.input_gate, tokens.forget_gate)
    features, gates = arguments[:3], arguments[3:]
    hidden, state = np.empty(tokens.value.shape), None
    for t in range(tokens.input_gate.shape[-1]):
        one = (*(each[..., t, :] for each in features), *(each[..., t] for each in gates))
        hidden[..., t, :], state = step(state, *one, settings.forget)
    chunks, last = chunkwise(*arguments, settings.chunk, None, settings.forget)
    return Agreement(
        parallel=_difference(parallel(*arguments, settings.forget), hidden),
        chunkwise=_difference(chunks, hidden),
        state=_difference(last.memory, state.memory),
    )


def _difference(found: np.ndarray, expected: np.ndarray) -> float:
    size = float(np.max(np.abs(expected), initial=0.0))
    return float(np.max(np.abs(found - expected), initial=0.0)) / (size or 1.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
