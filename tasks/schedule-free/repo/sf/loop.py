"""The training loop."""

from __future__ import annotations

from collections.abc import Callable

from .config import Config
from .optimizer import step, switch
from .state import State
from .tree import Tree


def fit(
    state: State,
    loss_and_gradient: Callable[[Tree], tuple[float, Tree]],
    config: Config,
    steps: int,
    evaluate_every: int = 0,
) -> tuple[State, list[float]]:
    """Train for a number of steps; return the state in mode "eval", and the losses at x every so many steps."""
    losses = []
    state = switch(state, config, "train")
    for count in range(1, steps + 1):
        _, gradient = loss_and_gradient(state.params)
        state = step(state, gradient, config)
        if evaluate_every and count % evaluate_every == 0:
            state = switch(state, config, "eval")
            losses.append(loss_and_gradient(state.params)[0])
            state = switch(state, config, "train")
    return switch(state, config, "eval"), losses


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
