"""SOAP (Vyas et al., 2024)."""

from __future__ import annotations

import numpy as np

from .config import Config
from .linalg import eigenbasis
from .state import Matrices, State


def fresh(shape: tuple[int, ...], config: Config) -> State:
    """The state of a parameter before its first update: zeros, and identities for bases."""
    sizes = [size if len(shape) > 1 and size <= config.max_size else None for size in shape]
    return State(
        step=0,
        first=np.zeros(shape),
        second=np.zeros(shape),
        preconditioners=tuple(None if size is None else np.zeros((size, size)) for size in sizes),
        bases=tuple(None if size is None else np.eye(size) for size in sizes),
    )


def rotate(tensor: np.ndarray, bases: Matrices, back: bool = False) -> np.ndarray:
    """Coordinates of a tensor in the bases, or the tensor with these coordinates."""
    result = np.array(tensor, dtype=np.float64)
    for axis, basis in enumerate(bases):
        if basis is not None:
            side = 1 if back else 0  # of the basis, which is summed over
            result = np.moveaxis(np.tensordot(basis, result, axes=(side, axis)), 0, axis)
    return result


def accumulate(preconditioners: Matrices, gradient: np.ndarray, decay: float) -> Matrices:
    """Preconditioners with one more gradient in them."""
    gradient, new = np.asarray(gradient, dtype=np.float64), []
    for axis, old in enumerate(preconditioners):
        if old is not None:
            rows = np.moveaxis(gradient, axis, 0).reshape(len(old), -1)
            old = decay * old + (1.0 - decay) * rows @ rows.T
        new.append(old)
    return tuple(new)


def refresh(preconditioners: Matrices, bases: Matrices, second: np.ndarray) -> tuple[Matrices, np.ndarray]:
    """Bases after one step of the power iteration, and the second moments in the order of their columns."""
    new = []
    for axis, basis in enumerate(bases):
        if basis is not None:
            product = preconditioners[axis] @ basis
            order = np.argsort(-np.diag(basis.T @ product), kind="stable")
            second = np.take(second, order, axis=axis)
            basis = np.linalg.qr(product[:, order])[0]
        new.append(basis)
    return tuple(new), second


def update(
    parameter: np.ndarray, gradient: np.ndarray | None, state: State, config: Config, lr: float | None = None
) -> tuple[np.ndarray, State]:
    """The new parameter and the new state after one update."""
    if gradient is None:
        return parameter, state
    gradient = np.asarray(gradient, dtype=np.float64)
    if gradient.shape != parameter.shape:
        raise ValueError(f"the gradient has the shape {gradient.shape}, the parameter {parameter.shape}")
    number = state.step + 1
    collect = config.collect if any(basis is not None for basis in state.bases) else 0
    preconditioners, bases = accumulate(state.preconditioners, gradient, config.beta2), state.bases
    if number <= collect:
        if number == collect:
            bases = tuple(None if matrix is None else eigenbasis(matrix) for matrix in preconditioners)
        return parameter, State(number, state.first, state.second, preconditioners, bases)

    age = number - collect
    first = config.beta1 * state.first + (1.0 - config.beta1) * gradient
    second = config.beta2 * state.second + (1.0 - config.beta2) * rotate(gradient, bases) ** 2
    root = np.sqrt(second / (1.0 - config.beta2**age)) + config.eps
    change = rotate(rotate(first, bases) / (1.0 - config.beta1**age) / root, bases, back=True)
    old = parameter.astype(np.float64)
    rate = config.lr if lr is None else lr
    new = old - rate * (change + config.weight_decay * old)
    if age % config.frequency == 0:
        bases, second = refresh(preconditioners, bases, second)
    return new.astype(parameter.dtype), State(number, first, second, preconditioners, bases)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
