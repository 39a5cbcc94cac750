"""Learning rates and weights of the average."""

from __future__ import annotations

import math

from .config import Config
from .state import Counters


def advance(counters: Counters, config: Config, scale: float = 1.0) -> tuple[float, float, Counters]:
    """Learning rate and averaging coefficient of the next step, and the counters after it."""
    if not (math.isfinite(scale) and scale >= 0.0):
        raise ValueError(f"scale must be finite and not negative, not {scale}")
    count = counters.step + 1
    rate = config.lr * scale
    if count < config.warmup_steps:
        rate *= count / config.warmup_steps
    if config.rule == "adamw":
        rate *= math.sqrt(1.0 - config.beta2**count)
    largest = max(counters.largest, rate)
    weight = count**config.step_power * largest**config.lr_power
    total = counters.total + weight
    share = weight / total if total > 0.0 else 0.0
    return float(rate), float(share), Counters(count, float(largest), float(total))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
