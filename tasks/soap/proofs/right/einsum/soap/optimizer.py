"""SOAP (Vyas et al., 2024)."""

from __future__ import annotations

import dataclasses

import numpy as np

from .config import Config
from .linalg import eigenbasis
from .state import Matrices, State

LETTERS = "abcdefghij"


def fresh(shape: tuple[int, ...], config: Config) -> State:
    """The state of a parameter before its first update."""
    preconditioners, bases = [], []
    for size in shape:
        wanted = len(shape) >= 2 and not size > config.max_size
        preconditioners.append(np.zeros((size, size)) if wanted else None)
        bases.append(np.identity(size) if wanted else None)
    return State(0, np.zeros(shape), np.zeros(shape), tuple(preconditioners), tuple(bases))


def _along(tensor, matrix, axis):
    """The tensor whose axis is multiplied by the matrix, which is summed over its first axis."""
    letters = LETTERS[: tensor.ndim]
    return np.einsum(f"{letters},{letters[axis]}z->{letters.replace(letters[axis], 'z')}", tensor, matrix)


def rotate(tensor: np.ndarray, bases: Matrices, back: bool = False) -> np.ndarray:
    """Coordinates of a tensor in the bases, or the tensor with these coordinates."""
    tensor = np.asarray(tensor).astype(np.float64)
    for axis in range(tensor.ndim):
        if bases[axis] is not None:
            tensor = _along(tensor, bases[axis].T if back else bases[axis], axis)
    return tensor


def accumulate(preconditioners: Matrices, gradient: np.ndarray, decay: float) -> Matrices:
    """Preconditioners with one more gradient in them."""
    gradient = np.asarray(gradient, dtype=np.float64)
    letters = LETTERS[: gradient.ndim]
    new = []
    for letter, old in zip(letters, preconditioners):
        if old is None:
            new.append(None)
        else:
            product = np.einsum(f"{letters},{letters.replace(letter, 'z')}->{letter}z", gradient, gradient)
            new.append(old + (1.0 - decay) * (product - old))
    return tuple(new)


def refresh(preconditioners: Matrices, bases: Matrices, second: np.ndarray) -> tuple[Matrices, np.ndarray]:
    """Bases after one step of the power iteration, and the second moments in the order of their columns."""
    new = list(bases)
    for axis, basis in enumerate(bases):
        if basis is None:
            continue
        estimates = np.einsum("ij,ik,kj->j", basis, preconditioners[axis], basis)
        order = sorted(range(len(estimates)), key=lambda column: (-estimates[column], column))
        moved = np.moveaxis(second, axis, 0)[order]
        second = np.moveaxis(moved, 0, axis)
        factor, triangle = np.linalg.qr(preconditioners[axis] @ basis[:, order])
        new[axis] = factor * np.where(np.diag(triangle) < 0.0, -1.0, 1.0)
    return tuple(new), second


def update(
    parameter: np.ndarray, gradient: np.ndarray | None, state: State, config: Config, lr: float | None = None
) -> tuple[np.ndarray, State]:
    """The new parameter and the new state after one update."""
    if gradient is None:
        return parameter, state
    gradient = np.array(gradient, dtype=np.float64)
    if gradient.shape != parameter.shape:
        raise ValueError("shapes differ")
    statistics = accumulate(state.preconditioners, gradient, config.beta2)
    state = dataclasses.replace(state, step=state.step + 1)
    plain = all(basis is None for basis in state.bases)
    t = state.step if plain else state.step - config.collect
    if t <= 0:
        bases = state.bases
        if t == 0:
            bases = tuple(matrix if matrix is None else eigenbasis(matrix) for matrix in statistics)
        return parameter, dataclasses.replace(state, preconditioners=statistics, bases=bases)
    rotated = rotate(gradient, state.bases)
    first = state.first + (1.0 - config.beta1) * (gradient - state.first)
    second = state.second + (1.0 - config.beta2) * (rotated * rotated - state.second)
    direction = rotate(first / (1.0 - config.beta1**t), state.bases)
    direction /= np.sqrt(second / (1.0 - config.beta2**t)) + config.eps
    rate = config.lr if lr is None else lr
    new = (1.0 - rate * config.weight_decay) * parameter.astype(np.float64)
    new -= rate * rotate(direction, state.bases, back=True)
    bases = state.bases
    if not t % config.frequency:
        bases, second = refresh(statistics, bases, second)
    return new.astype(parameter.dtype), State(state.step, first, second, statistics, bases)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
