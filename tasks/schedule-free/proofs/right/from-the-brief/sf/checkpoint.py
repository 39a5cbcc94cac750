"""States as flat dicts of arrays and numbers."""

from __future__ import annotations

import numpy as np

from .config import Config
from .optimizer import switch
from .state import Counters, State
from .tree import Tree, flatten, unflatten

NUMBERS = ("step", "largest", "total")


def save(state: State, config: Config) -> dict:
    """All that is needed to go on, by name."""
    state = switch(state, config, "eval")
    counters = state.counters
    saved = {"step": int(counters.step), "largest": float(counters.largest), "total": float(counters.total)}
    trees = {"x": state.params, "z": state.other}
    if config.rule == "adamw":
        trees["v"] = state.moments
    for name, tree in trees.items():
        for path, leaf in flatten(tree).items():
            saved[f"{name}/{path}"] = np.array(leaf, dtype=np.float64)
    return saved


def restore(saved: dict, like: Tree, config: Config) -> State:
    """The state that was saved, in mode "train"; `like` has the structure of the parameters."""
    shapes = {path: np.shape(leaf) for path, leaf in flatten(like).items()}
    names = ("x", "z", "v") if config.rule == "adamw" else ("x", "z")
    expected = {*NUMBERS, *(f"{name}/{path}" for name in names for path in shapes)}
    if missing := expected - saved.keys():
        raise ValueError(f"missing: {sorted(missing)}")
    if strange := saved.keys() - expected:
        raise ValueError(f"do not belong there: {sorted(map(str, strange))}")
    for name in NUMBERS:
        if np.shape(saved[name]) != ():
            raise ValueError(f"{name} must be a number")

    def tree(name: str) -> Tree:
        leaves = {}
        for path, shape in shapes.items():
            leaves[path] = np.array(saved[f"{name}/{path}"], dtype=np.float64)
            if leaves[path].shape != shape:
                raise ValueError(f"{name}/{path} has the shape {leaves[path].shape}, not {shape}")
        return unflatten(like, leaves)

    step, largest, total = (np.asarray(saved[name]).item() for name in NUMBERS)
    moments = tree("v") if config.rule == "adamw" else None
    state = State(tree("x"), tree("z"), moments, Counters(int(step), float(largest), float(total)), "eval")
    return switch(state, config, "train")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
