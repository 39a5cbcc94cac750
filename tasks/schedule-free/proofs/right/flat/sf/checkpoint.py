"""Checkpoints of flattened trees."""

import numpy as np

from .optimizer import switch
from .state import Counters, State
from .tree import flatten, map_tree, unflatten


def save(state, config):
    """Entries of the evaluation point."""
    there = switch(state, config, "eval")
    parts = {"x": there.params, "z": there.other} | ({"v": there.moments} if there.moments is not None else {})
    arrays = {f"{name}/{path}": np.copy(leaf) for name, tree in parts.items() for path, leaf in flatten(tree).items()}
    return {**vars(there.counters), **arrays}


def restore(saved, like, config):
    """The state that those entries belong to."""
    blank = State.start(map_tree(lambda leaf: np.zeros(np.shape(leaf)), like), config)
    template = save(blank, config)
    if set(template) != set(saved):
        raise ValueError(f"unexpected or missing: {set(template) ^ set(saved)}")
    for name, value in template.items():
        if np.shape(value) != np.shape(saved[name]):
            raise ValueError(f"shape of {name}")

    def tree(letter):
        return unflatten(like, {path: np.array(saved[f"{letter}/{path}"], dtype=float) for path in flatten(like)})

    moments = None if blank.moments is None else tree("v")
    counters = Counters(**{name: type(template[name])(saved[name]) for name in ("step", "largest", "total")})
    return switch(State(tree("x"), tree("z"), moments, counters, "eval"), config, "train")
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
