"""AdEMAMix (Pagliardini et al., 2024)."""

from __future__ import annotations

import dataclasses

import numpy as np

from .config import Config
from .state import State


def alpha_at(step: int, alpha: float, warmup: int | None = None) -> float:
    """The weight of the slow average at update number `step`."""
    if warmup is None or warmup == 0 or step >= warmup:
        return float(alpha)
    return float(alpha * (step / warmup))


def beta3_at(step: int, beta3: float, start: float, warmup: int | None = None) -> float:
    """The decay rate of the slow average at update number `step`."""
    if warmup is None or warmup == 0 or step >= warmup or start >= beta3:
        return float(beta3)
    share = step / warmup
    if start == 0.0:
        return float(beta3 ** (1.0 / share)) if share else 0.0
    logs = np.log1p(start - 1.0), np.log1p(beta3 - 1.0)
    return float(min(np.exp(logs[0] * logs[1] / ((1.0 - share) * logs[1] + share * logs[0])), beta3))


def _checked(parameters, gradients):
    """Pairs of a name and its gradient in float64, for those that have one."""
    if set(gradients) - set(parameters):
        raise ValueError(f"no parameters: {sorted(set(gradients) - set(parameters))}")
    found = {name: np.array(value, dtype=np.float64) for name, value in gradients.items() if value is not None}
    for name, value in found.items():
        if value.shape != parameters[name].shape:
            raise ValueError(f"gradient of {name}: {value.shape} instead of {parameters[name].shape}")
    return found


def update(
    parameters: dict[str, np.ndarray],
    gradients: dict[str, np.ndarray | None],
    states: dict[str, State],
    config: Config,
    lr: float | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, State]]:
    """New parameters and new states after one update."""
    if lr is None:
        lr = config.lr
    moved, remembered = {**parameters}, {**states}
    for name, gradient in _checked(parameters, gradients).items():
        before = states.get(name) or State.fresh(gradient.shape)
        step = before.step + 1
        rate = beta3_at(step, config.beta3, config.beta1, config.beta3_warmup)
        after = dataclasses.replace(
            before,
            step=step,
            fast=before.fast + (1.0 - config.beta1) * (gradient - before.fast) if config.beta1 else None,
            slow=before.slow + (1.0 - rate) * (gradient - before.slow),
            second=before.second + (1.0 - config.beta2) * (np.square(gradient) - before.second),
        )
        numerator = after.fast / (1.0 - config.beta1**step) if config.beta1 else gradient
        numerator = numerator + alpha_at(step, config.alpha, config.alpha_warmup) * after.slow
        denominator = np.sqrt(after.second) / np.sqrt(1.0 - config.beta2**step) + config.eps
        old = parameters[name].astype(np.float64)
        new = (1.0 - lr * config.weight_decay) * old - lr * numerator / denominator
        moved[name] = new.astype(parameters[name].dtype)
        remembered[name] = after
    return moved, remembered
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
