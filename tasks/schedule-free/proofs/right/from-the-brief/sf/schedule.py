"""Learning rates and weights of the average."""

from __future__ import annotations

import math

from .config import Config
from .state import Counters


def _power(base: float, exponent: float) -> float:
    """base ** exponent for numbers that are not negative; 1 for an exponent of 0, infinity where it overflows."""
    try:
        return float(base) ** float(exponent)
    except OverflowError:
        return math.inf


def advance(counters: Counters, config: Config, scale: float = 1.0) -> tuple[float, float, Counters]:
    """Learning rate and averaging coefficient of the next step, and the counters after it."""
    scale = float(scale)
    if not (math.isfinite(scale) and scale >= 0.0):
        raise ValueError(f"the scale must be finite and not negative, not {scale}")
    step = int(counters.step) + 1
    rate = float(config.lr) * scale
    if config.warmup_steps > 1:
        rate *= min(1.0, step / float(config.warmup_steps))
    if config.rule == "adamw" and config.beta2 > 0.0:
        rate *= math.sqrt(-math.expm1(step * math.log(config.beta2)))
    largest = max(float(counters.largest), rate)
    powers = _power(step, config.step_power), _power(largest, config.lr_power)
    weight = 0.0 if 0.0 in powers else powers[0] * powers[1]
    total = float(counters.total) + weight
    if total == 0.0:
        share = 0.0
    elif math.isinf(total):  # beyond floating point: a weight that overflows is taken to outweigh all before
        share = 1.0 if math.isinf(weight) else 0.0
    else:
        share = weight / total
    return rate, share, Counters(step, largest, total)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
