"""Schedule-free steps, and the two points between which the parameters are switched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .config import Config
from .schedule import advance
from .state import State
from .tree import Tree, map_tree


def checked(parameter: np.ndarray, gradient: np.ndarray | None) -> np.ndarray | None:
    """The gradient of one leaf in double precision; raises ValueError if its shape is not that of the parameter."""
    if gradient is None:
        return None
    gradient = np.asarray(gradient, dtype=np.float64)
    if gradient.shape != parameter.shape:
        raise ValueError(f"a gradient has shape {gradient.shape}, its parameter {parameter.shape}")
    return gradient


def step(state: State, gradients: Tree, config: Config, scale: float = 1.0) -> State:
    """The state after one step with the gradients at `state.params`."""
    if state.mode != "train":
        raise RuntimeError("steps are taken in mode 'train'; switch the state first")
    rate, share, counters = advance(state.counters, config, scale)
    gradients = map_tree(checked, state.params, gradients)
    moments = state.moments
    directions = gradients
    if config.rule == "adamw":

        def moment(old: np.ndarray, gradient: np.ndarray | None) -> np.ndarray:
            return old if gradient is None else np.asarray(config.beta2 * old + (1.0 - config.beta2) * gradient**2)

        def direction(gradient: np.ndarray | None, second: np.ndarray) -> np.ndarray | None:
            if gradient is None:
                return None
            scales = np.sqrt(second) + config.eps
            return gradient / np.where(scales > 0.0, scales, 1.0)  # where v is 0, so is the gradient

        moments = map_tree(moment, state.moments, gradients)
        directions = map_tree(lambda _, gradient, second: direction(gradient, second), state.params, gradients, moments)

    def moved(y: np.ndarray, other: np.ndarray, direction: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        if direction is None:
            return y, other
        change = rate * (direction + config.weight_decay * y)
        if config.beta == 0.0:
            return np.asarray(y - change), np.asarray((1.0 - share) * other + share * (y - change))
        # beta x = y - (1 - beta) z, so that x itself is not needed
        new = (1.0 - share) * y + share * other - (1.0 - config.beta * (1.0 - share)) * change
        return np.asarray(new), np.asarray(other - change)

    def part(position: int) -> Tree:
        return map_tree(lambda *leaves: moved(*leaves)[position], state.params, state.other, directions)

    return State(part(0), part(1), moments, counters, "train")


def switch(state: State, config: Config, mode: str) -> State:
    """The same state with the parameters at the training point ("train") or at the average ("eval")."""
    if mode not in ("train", "eval"):
        raise ValueError(f"the mode must be 'train' or 'eval', not {mode!r}")
    if mode == state.mode:
        return state
    if config.beta == 0.0:
        return replace(state, params=state.other, other=state.params, mode=mode)
    beta = config.beta

    def average(y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.asarray((y - (1.0 - beta) * z) / beta)

    def training(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.asarray(beta * x + (1.0 - beta) * z)

    point = average if mode == "eval" else training
    return replace(state, params=map_tree(point, state.params, state.other), mode=mode)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
