"""Checkpoints."""

import numpy as np

from .optimizer import switch
from .state import Counters, State
from .tree import flatten, unflatten


def save(state, config):
    """Entries by name."""
    state = switch(state, config, "eval")
    entries = {}
    for letter, tree in (("x", state.params), ("z", state.other), ("v", state.moments)):
        if letter != "v" or config.rule == "adamw":
            for path, leaf in flatten(tree).items():
                entries[letter + "/" + path] = np.array(leaf, dtype=np.float64)
    counters = state.counters
    entries["step"], entries["largest"], entries["total"] = counters.step, counters.largest, counters.total
    return entries


def restore(saved, like, config):
    """Take the entries one by one; what is left over does not belong here."""
    left = dict(saved)
    try:
        counters = Counters(int(left.pop("step")), float(left.pop("largest")), float(left.pop("total")))
        trees = []
        for letter in "xzv" if config.rule == "adamw" else "xz":
            leaves = {}
            for path, leaf in flatten(like).items():
                leaves[path] = np.array(left.pop(f"{letter}/{path}"), dtype=np.float64)
                if leaves[path].shape != np.shape(leaf):
                    raise ValueError("shape of an entry")
            trees.append(unflatten(like, leaves))
    except KeyError as error:
        raise ValueError("an entry is missing") from error
    if left:
        raise ValueError("an entry does not belong here")
    moments = trees[2] if config.rule == "adamw" else None
    return switch(State(trees[0], trees[1], moments, counters, "eval"), config, "train")
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
