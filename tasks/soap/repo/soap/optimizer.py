"""SOAP (Vyas et al., 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .config import Config
from .linalg import eigenbasis
from .state import Matrices, State


def fresh(shape: tuple[int, ...], config: Config) -> State:
    """The state of a parameter before its first update."""
    raise NotImplementedError


def rotate(tensor: np.ndarray, bases: Matrices, back: bool = False) -> np.ndarray:
    """Coordinates of a tensor in the bases, or the tensor with these coordinates."""
    raise NotImplementedError


def accumulate(preconditioners: Matrices, gradient: np.ndarray, decay: float) -> Matrices:
    """Preconditioners with one more gradient in them."""
    raise NotImplementedError


def refresh(preconditioners: Matrices, bases: Matrices, second: np.ndarray) -> tuple[Matrices, np.ndarray]:
    """Bases after one step of the power iteration, and the second moments in the order of their columns."""
    raise NotImplementedError


def update(
    parameter: np.ndarray, gradient: np.ndarray | None, state: State, config: Config, lr: float | None = None
) -> tuple[np.ndarray, State]:
    """The new parameter and the new state after one update."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
