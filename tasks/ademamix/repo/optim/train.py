"""The driver."""

from __future__ import annotations

import numpy as np

from .ademamix import update
from .config import Config
from .problems import LinearModel
from .schedules import cosine
from .state import State


def train(
    problem: LinearModel, parameters: dict[str, np.ndarray], config: Config, steps: int, warmup: int = 0
) -> tuple[dict[str, np.ndarray], dict[str, State]]:
    """Parameters and states after `steps` updates with a cosine schedule."""
    states: dict[str, State] = {}
    for step in range(steps):
        gradients = problem.gradients(parameters, step)
        parameters, states = update(parameters, gradients, states, config, cosine(step, steps, config.lr, warmup))
    return parameters, states


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
