"""SOAP (Vyas et al., 2024)."""

from __future__ import annotations

import numpy as np

from .config import Config
from .linalg import eigenbasis
from .state import Matrices, State


def fresh(shape: tuple[int, ...], config: Config) -> State:
    """The state of a parameter before its first update."""
    shape = tuple(shape)
    used = [len(shape) >= 2 and size <= config.max_size for size in shape]
    return State(
        0,
        np.zeros(shape),
        np.zeros(shape),
        tuple(np.zeros((size, size)) if use else None for size, use in zip(shape, used, strict=True)),
        tuple(np.eye(size) if use else None for size, use in zip(shape, used, strict=True)),
    )


def rotate(tensor: np.ndarray, bases: Matrices, back: bool = False) -> np.ndarray:
    """Coordinates of a tensor in the bases, or the tensor with these coordinates."""
    result = np.array(tensor, dtype=np.float64)
    for axis, basis in enumerate(bases):
        if basis is not None:
            product = np.tensordot(result, np.asarray(basis, dtype=np.float64), axes=(axis, 1 if back else 0))
            result = np.moveaxis(product, -1, axis)
    return np.ascontiguousarray(result) if result.ndim else result


def accumulate(preconditioners: Matrices, gradient: np.ndarray, decay: float) -> Matrices:
    """Preconditioners with one more gradient in them."""
    gradient = np.asarray(gradient, dtype=np.float64)
    new = []
    for axis, old in enumerate(preconditioners):
        if old is None:
            new.append(None)
            continue
        others = [other for other in range(gradient.ndim) if other != axis]
        product = np.tensordot(gradient, gradient, axes=(others, others))
        new.append(decay * np.asarray(old, dtype=np.float64) + (1.0 - decay) * product)
    return tuple(new)


def refresh(preconditioners: Matrices, bases: Matrices, second: np.ndarray) -> tuple[Matrices, np.ndarray]:
    """Bases after one step of the power iteration, and the second moments in the order of their columns."""
    second = np.array(second, dtype=np.float64)
    new = []
    for axis, (matrix, basis) in enumerate(zip(preconditioners, bases, strict=True)):
        if matrix is None:
            new.append(None)
            continue
        matrix, basis = np.asarray(matrix, dtype=np.float64), np.asarray(basis, dtype=np.float64)
        images = matrix @ basis
        order = np.argsort(-np.sum(basis * images, axis=0), kind="stable")
        second = np.take(second, order, axis=axis)
        new.append(np.linalg.qr(images[:, order])[0])
    return tuple(new), second


def update(
    parameter: np.ndarray, gradient: np.ndarray | None, state: State, config: Config, lr: float | None = None
) -> tuple[np.ndarray, State]:
    """The new parameter and the new state after one update."""
    if gradient is None:
        return parameter, state
    gradient = np.asarray(gradient, dtype=np.float64)
    parameter = np.asarray(parameter)
    if gradient.shape != parameter.shape:
        raise ValueError(f"gradient {gradient.shape} must have the shape of the parameter {parameter.shape}")
    step = t = state.step + 1
    if any(matrix is not None for matrix in state.preconditioners):
        if step <= config.collect:
            return parameter.copy(), _collected(gradient, state, config)
        t = step - config.collect

    first = np.asarray(config.beta1 * state.first + (1.0 - config.beta1) * gradient)
    rotated = rotate(gradient, state.bases)
    second = np.asarray(config.beta2 * state.second + (1.0 - config.beta2) * rotated * rotated)
    root = np.sqrt(second / (1.0 - config.beta2**t)) + config.eps
    direction = rotate(rotate(first, state.bases) / (1.0 - config.beta1**t) / root, state.bases, back=True)
    old = parameter.astype(np.float64)
    new = old - (config.lr if lr is None else lr) * (direction + config.weight_decay * old)

    preconditioners = accumulate(state.preconditioners, gradient, config.beta2)
    bases = state.bases
    if t % config.frequency == 0:
        bases, second = refresh(preconditioners, bases, second)
    return np.asarray(new, dtype=parameter.dtype), State(step, first, second, preconditioners, bases)


def _collected(gradient: np.ndarray, state: State, config: Config) -> State:
    """The state after an update that only collects statistics."""
    preconditioners, bases = accumulate(state.preconditioners, gradient, config.beta2), state.bases
    if state.step + 1 == config.collect:
        bases = tuple(None if matrix is None else eigenbasis(matrix) for matrix in preconditioners)
    return State(state.step + 1, state.first, state.second, preconditioners, bases)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
