"""The mLSTM cell (Beck et al. 2024), token by token: a matrix memory with exponential gates."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .gates import log_forget_gate
from .inputs import Inputs
from .state import State


def step(
    state: State | None,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    input_gate: np.ndarray,
    forget_gate: np.ndarray,
    forget: str = "sigmoid",
) -> tuple[np.ndarray, State]:
    """Hidden values `(..., V)` of one token, and the state after it."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
