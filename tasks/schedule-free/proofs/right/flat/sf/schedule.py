"""Learning rates with numpy."""

import numpy as np

from .state import Counters


def advance(counters, config, scale=1.0):
    """Rate, share, counters."""
    if not np.isfinite(scale) or scale < 0:
        raise ValueError("the scale must be a finite number that is not negative")
    step = counters.step + 1
    factors = [config.lr, scale, np.clip(step / max(config.warmup_steps, 1), 0.0, 1.0)]
    if config.rule != "sgd":
        factors.append(np.sqrt(1.0 - np.power(config.beta2, step)))
    rate = float(np.prod(factors))
    largest = float(np.maximum(counters.largest, rate))
    weight = np.power(float(step), config.step_power) * np.power(largest, config.lr_power)
    total = float(counters.total + weight)
    share = float(np.divide(weight, total)) if total > 0 else 0.0
    return rate, share, Counters(step, largest, total)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
