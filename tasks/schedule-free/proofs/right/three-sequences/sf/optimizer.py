"""Every step recovers x, y and z, makes the step of the definition, and stores two of them."""

import numpy as np

from .schedule import advance
from .state import State
from .tree import flatten, map_tree, unflatten


def _expand(tree, gradients):
    """Gradients by path, with None for those that are missing, checked against the parameters."""

    def one(leaf, gradient):
        if gradient is None:
            return np.full((), np.nan, dtype=object)
        gradient = np.array(gradient, dtype=float)
        if gradient.shape != np.shape(leaf):
            raise ValueError("shape of a gradient")
        return gradient

    found = flatten(map_tree(one, tree, gradients))
    return {path: None if leaf.dtype == object else leaf for path, leaf in found.items()}


def _sequences(state, config):
    """x, y and z by path, whatever the mode."""
    params, other = flatten(state.params), flatten(state.other)
    if config.beta == 0.0:
        x, z = (other, params) if state.mode == "train" else (params, other)
        return x, z, z
    if state.mode == "eval":
        y = {path: config.beta * params[path] + (1.0 - config.beta) * other[path] for path in params}
        return params, y, other
    x = {path: other[path] + (params[path] - other[path]) / config.beta for path in params}
    return x, params, other


def _pack(state, config, x, y, z, mode, moments, counters):
    """A new state of these sequences."""
    if mode == "train":
        pair = (y, x if config.beta == 0.0 else z)
    else:
        pair = (x, z)
    trees = [unflatten(state.params, {path: np.array(leaf) for path, leaf in each.items()}) for each in pair]
    return State(trees[0], trees[1], moments, counters, mode)


def step(state, gradients, config, scale=1.0):
    """Equations (1) to (4), leaf by leaf."""
    if state.mode == "eval":
        raise RuntimeError("the state is at the evaluation point")
    given = _expand(state.params, gradients)
    rate, share, counters = advance(state.counters, config, scale)
    x, y, z = (dict(each) for each in _sequences(state, config))
    v = {} if state.moments is None else dict(flatten(state.moments))
    for path, gradient in given.items():
        if gradient is None:
            continue
        direction = gradient
        if config.rule == "adamw":
            v[path] = v[path] + (1.0 - config.beta2) * (gradient**2 - v[path])
            root = np.sqrt(v[path]) + config.eps
            direction = np.where(root == 0.0, 0.0, gradient / np.where(root == 0.0, 1.0, root))
        z[path] = z[path] - rate * direction - rate * config.weight_decay * y[path]
        x[path] = x[path] + share * (z[path] - x[path])
        y[path] = z[path] + config.beta * (x[path] - z[path])
    moments = None
    if state.moments is not None:
        moments = unflatten(state.params, {path: np.array(leaf) for path, leaf in v.items()})
    return _pack(state, config, x, y, z, "train", moments, counters)


def switch(state, config, mode):
    """Store another pair of the three sequences."""
    if mode not in {"train", "eval"}:
        raise ValueError("unknown mode")
    if mode == state.mode:
        return state
    return _pack(state, config, *_sequences(state, config), mode, state.moments, state.counters)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
