"""Schedule-free steps, and the two points between which the parameters are switched."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .config import Config
from .schedule import advance
from .state import State
from .tree import Tree, map_tree


@dataclass(frozen=True, eq=False)
class _Leaf:
    """The new values of one leaf; no tuple, because tuples are nodes of trees."""

    params: np.ndarray
    other: np.ndarray
    moments: np.ndarray | None


def _copy(leaf: np.ndarray) -> np.ndarray:
    return np.array(leaf, dtype=np.float64)


def step(state: State, gradients: Tree, config: Config, scale: float = 1.0) -> State:
    """The state after one step with the gradients at `state.params`."""
    if state.mode != "train":
        raise RuntimeError("steps are made in mode 'train'")
    rate, share, counters = advance(state.counters, config, scale)
    adaptive = config.rule == "adamw"

    def update(params, other, moments, gradient) -> _Leaf:
        if gradient is None:
            return _Leaf(_copy(params), _copy(other), None if moments is None else _copy(moments))
        gradient = np.asarray(gradient, dtype=np.float64)
        if gradient.shape != np.shape(params):
            raise ValueError(f"a gradient has the shape {gradient.shape}, its parameter {np.shape(params)}")
        direction = gradient
        if adaptive:
            with np.errstate(over="ignore", under="ignore"):
                fresh = (1.0 - config.beta2) * gradient**2
            moments = np.asarray(config.beta2 * moments + fresh if config.beta2 > 0.0 else fresh)
            below = np.sqrt(moments) + config.eps
            direction = np.divide(gradient, below, out=np.zeros(gradient.shape), where=below > 0.0)
        change = rate * (direction + config.weight_decay * params)
        if config.beta == 0.0:  # params is y and z, other is x
            moved = params - change
            rest = (1.0 - share) * other + share * moved
        else:  # params is y, other is z
            moved = (1.0 - share) * params + share * other - (1.0 - config.beta * (1.0 - share)) * change
            rest = other - change
        return _Leaf(np.asarray(moved), np.asarray(rest), moments)

    leaves = map_tree(update, state.params, state.other, state.moments, gradients)
    return State(
        params=map_tree(lambda leaf: leaf.params, leaves),
        other=map_tree(lambda leaf: leaf.other, leaves),
        moments=map_tree(lambda leaf: leaf.moments, leaves) if adaptive else None,
        counters=counters,
        mode="train",
    )


def switch(state: State, config: Config, mode: str) -> State:
    """The same state with the parameters at the training point ("train") or at the average ("eval")."""
    if mode not in ("train", "eval"):
        raise ValueError(f"the mode is 'train' or 'eval', not {mode!r}")
    beta = config.beta

    def average(y, z):
        return np.asarray(np.where(y == z, z, (y - (1.0 - beta) * z) / beta))

    def training_point(x, z):
        return np.asarray(np.where(x == z, z, (1.0 - beta) * z + beta * x))

    params, other = map_tree(_copy, state.params), map_tree(_copy, state.other)
    if mode != state.mode:
        if beta == 0.0:
            params, other = other, params
        else:
            params = map_tree(average if mode == "eval" else training_point, params, other)
    moments = None if state.moments is None else map_tree(_copy, state.moments)
    return replace(state, params=params, other=other, moments=moments, mode=mode)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
