"""Schedule-free steps, and the two points between which the parameters are switched."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .config import Config
from .schedule import advance
from .state import State
from .tree import Tree, map_tree


def step(state: State, gradients: Tree, config: Config, scale: float = 1.0) -> State:
    """The state after one step with the gradients at `state.params`."""
    raise NotImplementedError


def switch(state: State, config: Config, mode: str) -> State:
    """The same state with the parameters at the training point ("train") or at the average ("eval")."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
