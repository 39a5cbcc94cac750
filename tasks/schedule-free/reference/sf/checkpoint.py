"""States as flat dicts of arrays and numbers."""

from __future__ import annotations

import numpy as np

from .config import Config
from .optimizer import switch
from .state import Counters, State
from .tree import Tree, flatten, unflatten


def save(state: State, config: Config) -> dict:
    """All that is needed to go on, by name."""
    state = switch(state, config, "eval")
    counters = state.counters
    trees = {"x": state.params, "z": state.other, "v": state.moments}
    saved = {"step": counters.step, "largest": counters.largest, "total": counters.total}
    for name, tree in trees.items():
        if tree is not None:
            saved.update({f"{name}/{path}": leaf for path, leaf in flatten(tree).items()})
    return saved


def restore(saved: dict, like: Tree, config: Config) -> State:
    """The state that was saved, in mode "train"; `like` has the structure of the parameters."""
    names = ("x", "z", "v") if config.rule == "adamw" else ("x", "z")
    shapes = {f"{name}/{path}": np.shape(leaf) for name in names for path, leaf in flatten(like).items()}
    if saved.keys() != shapes.keys() | {"step", "largest", "total"}:
        raise ValueError("the entries are not those of such a state")
    arrays = {key: np.array(saved[key], dtype=np.float64) for key in shapes}
    for key, shape in shapes.items():
        if arrays[key].shape != shape:
            raise ValueError(f"{key} has shape {arrays[key].shape}, expected {shape}")

    def tree(name: str) -> Tree:
        return unflatten(like, {path: arrays[f"{name}/{path}"] for path in flatten(like)})

    counters = Counters(int(saved["step"]), float(saved["largest"]), float(saved["total"]))
    moments = tree("v") if config.rule == "adamw" else None
    return switch(State(tree("x"), tree("z"), moments, counters, "eval"), config, "train")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
