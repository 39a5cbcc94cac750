"""What an optimiser stores between steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .config import Config
from .tree import Tree, map_tree


@dataclass(frozen=True)
class Counters:
    """The numbers that all parameters share.

    step: steps done. largest: largest learning rate of these steps. total: sum of their weights.
    """

    step: int = 0
    largest: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, eq=False)
class State:
    """Two trees of parameters, and for AdamW one of second moments. All leaves are float64 arrays.

    mode: "train" or "eval".
    params: what the model uses: the training point y in mode "train", the average x in mode "eval".
    other: z; but x in mode "train" if beta is 0, where y is z.
    moments: v; None for SGD.
    """

    params: Tree
    other: Tree
    moments: Tree | None
    counters: Counters
    mode: str

    @classmethod
    def start(cls, params: Tree, config: Config) -> State:
        """Before the first step, where x, y and z are the same point, in mode "train"."""

        def copy(leaf):
            return np.array(leaf, dtype=np.float64)

        moments = map_tree(lambda leaf: np.zeros(np.shape(leaf)), params) if config.rule == "adamw" else None
        return cls(map_tree(copy, params), map_tree(copy, params), moments, Counters(), "train")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
