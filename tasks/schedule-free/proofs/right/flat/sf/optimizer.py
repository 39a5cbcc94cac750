"""All parameters as one long vector, with a mask for those that take part in a step."""

import numpy as np

from .schedule import advance
from .state import State
from .tree import Tree, flatten, map_tree, unflatten


def _vector(tree: Tree) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in flatten(tree).values()]).astype(np.float64)


def _tree(vector: np.ndarray, like: Tree) -> Tree:
    leaves, position = {}, 0
    for path, leaf in flatten(like).items():
        size = np.size(leaf)
        leaves[path] = vector[position : position + size].reshape(np.shape(leaf)).copy()
        position += size
    return unflatten(like, leaves)


def _gradient(tree: Tree, gradients: Tree) -> np.ndarray:
    """NaN where there is no gradient."""

    def one(leaf, gradient):
        if gradient is None:
            return np.full(np.shape(leaf), np.nan)
        if np.shape(gradient) != np.shape(leaf):
            raise ValueError(f"{np.shape(gradient)} instead of {np.shape(leaf)}")
        return np.asarray(gradient, dtype=np.float64)

    return _vector(map_tree(one, tree, gradients))


def step(state, gradients, config, scale=1.0):
    """The update (7) on vectors."""
    if state.mode != "train":
        raise RuntimeError("switch to 'train' first")
    gradient = _gradient(state.params, gradients)
    rate, c, counters = advance(state.counters, config, scale)
    taken = ~np.isnan(gradient)
    y, other = _vector(state.params), _vector(state.other)
    u = gradient[taken]
    moments = state.moments
    if config.rule == "adamw":
        v = _vector(moments)
        v[taken] = config.beta2 * v[taken] + (1.0 - config.beta2) * u**2
        moments = _tree(v, state.params)
        bottom = np.sqrt(v[taken]) + config.eps
        u = np.divide(u, bottom, out=np.zeros_like(u), where=bottom != 0.0)
    move = rate * (u + config.weight_decay * y[taken])
    if config.beta:
        blend = (1.0 - c) * y[taken] + c * other[taken]
        other[taken] -= move
        y[taken] = blend - (1.0 - config.beta + config.beta * c) * move
    else:
        y[taken] -= move
        other[taken] += c * (y[taken] - other[taken])
    return State(_tree(y, state.params), _tree(other, state.params), moments, counters, "train")


def switch(state, config, mode):
    """Extrapolate, interpolate or exchange."""
    if mode != "train" and mode != "eval":
        raise ValueError(f"{mode!r} is no mode")
    params, other = state.params, state.other
    if mode != state.mode and config.beta == 0:
        params, other = other, params
    elif mode != state.mode:
        weight = config.beta if mode == "train" else 1.0 / config.beta
        params = _tree(weight * _vector(params) + (1.0 - weight) * _vector(other), params)
    return State(params, other, state.moments, state.counters, mode)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
