"""AdEMAMix (Pagliardini et al., 2024)."""

from __future__ import annotations

import math

import numpy as np

from .config import Config
from .state import State


def alpha_at(step: int, alpha: float, warmup: int | None = None) -> float:
    """The weight of the slow average at update number `step`."""
    if not warmup or step >= warmup:
        return float(alpha)
    return float(step / warmup * alpha)


def _half_life(beta: float) -> float:
    return 0.0 if beta == 0.0 else math.log(0.5) / math.log(beta)


def beta3_at(step: int, beta3: float, start: float, warmup: int | None = None) -> float:
    """The decay rate of the slow average at update number `step`."""
    if not warmup or step >= warmup or start >= beta3:
        return float(beta3)
    share = step / warmup
    life = (1.0 - share) * _half_life(start) + share * _half_life(beta3)
    if life == 0.0:
        return 0.0
    return float(min(math.exp(math.log(0.5) / life), beta3))


def update(
    parameters: dict[str, np.ndarray],
    gradients: dict[str, np.ndarray | None],
    states: dict[str, State],
    config: Config,
    lr: float | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, State]]:
    """New parameters and new states after one update."""
    unknown = [name for name in gradients if name not in parameters]
    if unknown:
        raise ValueError(f"gradients without a parameter: {unknown}")
    rate = config.lr if lr is None else lr
    new_parameters, new_states = dict(parameters), dict(states)
    for name, gradient in gradients.items():
        if gradient is None:
            continue
        old = parameters[name]
        gradient = np.asarray(gradient, dtype=np.float64)
        if gradient.shape != old.shape:
            raise ValueError(f"gradient of {name} is {gradient.shape}, its parameter {old.shape}")
        state = states.get(name)
        if state is None:
            state = State.fresh(old.shape)
        new_parameters[name], new_states[name] = _step(old, gradient, state, config, rate)
    return new_parameters, new_states


def _step(old: np.ndarray, gradient: np.ndarray, state: State, config: Config, rate: float) -> tuple[np.ndarray, State]:
    """One update of one parameter, (1) to (4)."""
    t = state.step + 1
    alpha = alpha_at(t, config.alpha, config.alpha_warmup)
    beta3 = beta3_at(t, config.beta3, config.beta1, config.beta3_warmup)
    if config.beta1 == 0.0:
        fast, corrected = None, gradient
    else:
        before = 0.0 if state.fast is None else state.fast
        fast = np.asarray(config.beta1 * before + (1.0 - config.beta1) * gradient)
        corrected = fast / (1.0 - config.beta1**t)
    slow = np.asarray(beta3 * state.slow + (1.0 - beta3) * gradient)
    second = np.asarray(config.beta2 * state.second + (1.0 - config.beta2) * gradient**2)
    root = np.sqrt(second / (1.0 - config.beta2**t))
    value = old.astype(np.float64)
    value = value - rate * ((corrected + alpha * slow) / (root + config.eps) + config.weight_decay * value)
    return np.asarray(value, dtype=old.dtype), State(t, fast, slow, second)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
