"""The driver."""

from __future__ import annotations

import numpy as np

from .config import Config
from .optimizer import fresh, update
from .problems import Factors
from .state import State


def train(
    problem: Factors, parameters: dict[str, np.ndarray], config: Config
) -> tuple[dict[str, np.ndarray], dict[str, State]]:
    """Parameters and states after an update for each target, with a learning rate that falls linearly to zero."""
    states = {name: fresh(value.shape, config) for name, value in parameters.items()}
    parameters, steps = dict(parameters), len(problem.targets)
    for step in range(steps):
        gradients = problem.gradients(parameters, step)
        for name, gradient in gradients.items():
            rate = config.lr * (1.0 - step / steps)
            parameters[name], states[name] = update(parameters[name], gradient, states[name], config, rate)
    return parameters, states


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
