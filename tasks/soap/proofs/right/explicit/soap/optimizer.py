"""SOAP (Vyas et al., 2024), with matrices of unfolded tensors."""

from __future__ import annotations

import numpy as np

from .config import Config
from .linalg import eigenbasis
from .state import Matrices, State


def fresh(shape: tuple[int, ...], config: Config) -> State:
    """The state of a parameter before its first update."""

    def each(make):
        if len(shape) < 2:
            return (None,) * len(shape)
        return tuple(None if size > config.max_size else make(size) for size in shape)

    return State(0, np.zeros(shape), np.zeros(shape), each(lambda n: np.zeros((n, n))), each(np.eye))


def _unfold(tensor, axis):
    """A matrix whose rows are the slices of an axis, and a function that undoes this."""
    moved = np.swapaxes(tensor, 0, axis)
    return moved.reshape(moved.shape[0], -1), lambda matrix: np.swapaxes(matrix.reshape(moved.shape), 0, axis)


def rotate(tensor: np.ndarray, bases: Matrices, back: bool = False) -> np.ndarray:
    """Coordinates of a tensor in the bases, or the tensor with these coordinates."""
    tensor = np.array(tensor, dtype=np.float64)
    for axis, basis in reversed(list(enumerate(bases))):
        if basis is not None:
            rows, fold = _unfold(tensor, axis)
            tensor = fold((basis if back else basis.T) @ rows)
    return tensor


def accumulate(preconditioners: Matrices, gradient: np.ndarray, decay: float) -> Matrices:
    """Preconditioners with one more gradient in them."""
    gradient = np.array(gradient, dtype=np.float64)
    new = list(preconditioners)
    for axis, old in enumerate(preconditioners):
        if old is not None:
            rows, _ = _unfold(gradient, axis)
            new[axis] = decay * old + (1.0 - decay) * sum(np.outer(column, column) for column in rows.T)
    return tuple(new)


def _householder(matrix):
    """The orthonormal factor of a QR decomposition by reflections."""
    triangle, factor = matrix.copy(), np.eye(len(matrix))
    for column in range(len(matrix) - 1):
        vector = triangle[column:, column].copy()
        vector[0] += np.copysign(np.linalg.norm(vector), vector[0])
        if length := np.linalg.norm(vector):
            vector /= length
            triangle[column:] -= 2.0 * np.outer(vector, vector @ triangle[column:])
            factor[:, column:] -= 2.0 * np.outer(factor[:, column:] @ vector, vector)
    return factor


def refresh(preconditioners: Matrices, bases: Matrices, second: np.ndarray) -> tuple[Matrices, np.ndarray]:
    """Bases after one step of the power iteration, and the second moments in the order of their columns."""
    new, second = [], second.copy()
    for axis, (matrix, basis) in enumerate(zip(preconditioners, bases)):
        if basis is None:
            new.append(None)
            continue
        estimates = np.diag(basis.T @ matrix @ basis)
        order = np.lexsort((np.arange(len(estimates)), -estimates))
        rows, fold = _unfold(second, axis)
        second = fold(rows[order])
        new.append(_householder(matrix @ basis[:, order]))
    return tuple(new), second


def update(
    parameter: np.ndarray, gradient: np.ndarray | None, state: State, config: Config, lr: float | None = None
) -> tuple[np.ndarray, State]:
    """The new parameter and the new state after one update."""
    if gradient is None:
        return parameter, state
    if np.shape(gradient) != parameter.shape:
        raise ValueError(f"{np.shape(gradient)} is not {parameter.shape}")
    k = state.step + 1
    matrices = accumulate(state.preconditioners, gradient, config.beta2)
    wait = 0 if set(map(type, state.bases)) <= {type(None)} else config.collect
    if k < wait:
        return parameter, State(k, state.first, state.second, matrices, state.bases)
    if k == wait:
        bases = tuple(map(lambda matrix: None if matrix is None else eigenbasis(matrix), matrices))
        return parameter, State(k, state.first, state.second, matrices, bases)
    t = k - wait
    gradient = np.array(gradient, dtype=np.float64)
    first = config.beta1 * state.first + (1 - config.beta1) * gradient
    second = config.beta2 * state.second + (1 - config.beta2) * rotate(gradient, state.bases) ** 2
    scaled = rotate(first, state.bases) / (np.sqrt(second) / np.sqrt(1 - config.beta2**t) + config.eps)
    step = rotate(scaled, state.bases, True) / (1 - config.beta1**t)
    rate = lr if lr is not None else config.lr
    old = parameter.astype(np.float64)
    new = old - rate * step - rate * config.weight_decay * old
    bases, second = refresh(matrices, state.bases, second) if t % config.frequency == 0 else (state.bases, second)
    return new.astype(parameter.dtype), State(k, first, second, matrices, bases)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
