"""The gated delta rule (Yang et al., 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

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
    raise NotImplementedError


def ut_transform(key: Any, log_decay: Any, beta: Any) -> np.ndarray:
    """The matrix that turns the differences of values into what one chunk writes."""
    raise NotImplementedError


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
    raise NotImplementedError


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
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
