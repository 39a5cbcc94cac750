"""AdEMAMix (Pagliardini et al., 2024), one number at a time."""

from __future__ import annotations

from math import exp, log, log2, sqrt

import numpy as np

from .config import Config
from .state import State


def alpha_at(step: int, alpha: float, warmup: int | None = None) -> float:
    """The weight of the slow average at update number `step`."""
    share = min(step / warmup, 1.0) if warmup else 1.0
    return share * float(alpha) if share < 1.0 else float(alpha)


def beta3_at(step: int, beta3: float, start: float, warmup: int | None = None) -> float:
    """The decay rate of the slow average at update number `step`."""
    if start >= beta3 or not warmup:
        return float(beta3)
    remaining = max(warmup - step, 0)
    if remaining == 0:
        return float(beta3)
    life = 0.0
    if start > 0.0:
        life -= remaining / log2(start)
    life -= step / log2(beta3)
    return exp(-log(2.0) * warmup / life) if life > 0.0 else 0.0


def update(
    parameters: dict[str, np.ndarray],
    gradients: dict[str, np.ndarray | None],
    states: dict[str, State],
    config: Config,
    lr: float | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, State]]:
    """New parameters and new states after one update."""
    for name in gradients:
        if name not in parameters:
            raise ValueError(f"no parameter is called {name}")
    rate = lr if lr is not None else config.lr
    values, memories = {}, {name: state for name, state in states.items()}
    for name, parameter in parameters.items():
        values[name] = parameter
        given = gradients.get(name)
        if given is None:
            continue
        gradient = np.asarray(given, dtype=np.float64)
        if gradient.shape != parameter.shape:
            raise ValueError(f"{name} needs a gradient of shape {parameter.shape}")
        state = states.get(name, State.fresh(parameter.shape))
        step = state.step + 1
        beta3 = beta3_at(step, config.beta3, config.beta1, config.beta3_warmup)
        alpha = alpha_at(step, config.alpha, config.alpha_warmup)
        new, fast, slow, second = (np.zeros(parameter.shape) for _ in range(4))
        for place in np.ndindex(parameter.shape):
            g, old = float(gradient[place]), float(parameter[place])
            first = g
            if config.beta1 > 0.0:
                fast[place] = config.beta1 * float(state.fast[place]) + (1.0 - config.beta1) * g
                first = fast[place] / (1.0 - config.beta1**step)
            slow[place] = beta3 * float(state.slow[place]) + (1.0 - beta3) * g
            second[place] = config.beta2 * float(state.second[place]) + (1.0 - config.beta2) * g * g
            scale = sqrt(second[place] / (1.0 - config.beta2**step)) + config.eps
            new[place] = old - rate * (first + alpha * slow[place]) / scale - rate * config.weight_decay * old
        values[name] = new.astype(parameter.dtype)
        memories[name] = State(step, fast if config.beta1 > 0.0 else None, slow, second)
    return values, memories
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
