"""The mLSTM cell over sequences: in parallel, and chunk by chunk."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .gates import log_forget_gate
from .inputs import Inputs
from .state import State


def log_decay(log_input: np.ndarray, log_forget: np.ndarray) -> np.ndarray:
    """Logarithms of the weights `(..., T, T)` with which token t (row) still holds what token s (column) wrote."""
    raise NotImplementedError


def parallel(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    input_gate: np.ndarray,
    forget_gate: np.ndarray,
    forget: str = "sigmoid",
) -> np.ndarray:
    """Hidden values `(..., T, V)` of a whole sequence that begins with an empty memory."""
    raise NotImplementedError


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
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
