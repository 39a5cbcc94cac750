"""AdEMAMix (Pagliardini et al., 2024)."""

from __future__ import annotations

import math

import numpy as np

from .config import Config
from .state import State


def alpha_at(step: int, alpha: float, warmup: int | None = None) -> float:
    """The weight of the slow average at update number `step`: linear from 0 to `alpha` at `warmup`."""
    if not warmup or step >= warmup:
        return float(alpha)
    return alpha * (step / warmup)


def beta3_at(step: int, beta3: float, start: float, warmup: int | None = None) -> float:
    """The decay rate of the slow average at update number `step`, whose half-life grows linearly until `warmup`."""
    if not warmup or step >= warmup or start >= beta3:
        return float(beta3)
    first, last = (math.log(0.5) / math.log(beta) if beta > 0.0 else 0.0 for beta in (start, beta3))
    half_life = first + (last - first) * step / warmup
    return 0.5 ** (1.0 / half_life) if half_life > 0.0 else 0.0


def update(
    parameters: dict[str, np.ndarray],
    gradients: dict[str, np.ndarray | None],
    states: dict[str, State],
    config: Config,
    lr: float | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, State]]:
    """New parameters and new states after one update; a parameter without a gradient is skipped."""
    new_parameters, new_states = dict(parameters), dict(states)
    rate = config.lr if lr is None else lr
    for name, given in gradients.items():
        if name not in parameters:
            raise ValueError(f"there is a gradient for {name!r}, which is no parameter")
        if given is None:
            continue
        old = np.asarray(parameters[name], dtype=np.float64)
        gradient = np.asarray(given, dtype=np.float64)
        if gradient.shape != old.shape:
            raise ValueError(f"the gradient of {name!r} has the shape {gradient.shape}, not {old.shape}")
        state = states[name] if name in states else State.fresh(old.shape)
        step = state.step + 1  # of this parameter: others may have had more updates
        beta3 = beta3_at(step, config.beta3, config.beta1, config.beta3_warmup)
        alpha = alpha_at(step, config.alpha, config.alpha_warmup)
        fast = None if config.beta1 == 0.0 else config.beta1 * state.fast + (1.0 - config.beta1) * gradient
        slow = beta3 * state.slow + (1.0 - beta3) * gradient
        second = config.beta2 * state.second + (1.0 - config.beta2) * gradient**2
        corrected = gradient if fast is None else fast / (1.0 - config.beta1**step)
        root = np.sqrt(second / (1.0 - config.beta2**step))
        change = (corrected + alpha * slow) / (root + config.eps) + config.weight_decay * old
        new_parameters[name] = (old - rate * change).astype(parameters[name].dtype)
        new_states[name] = State(step, fast, slow, second)
    return new_parameters, new_states


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
