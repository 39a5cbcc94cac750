"""Learning rates, written out case by case."""

from .state import Counters


def advance(counters, config, scale=1.0):
    """One step of all counters."""
    if not 0.0 <= scale < float("inf"):
        raise ValueError("scale")
    t = int(counters.step) + 1
    warm = 1.0 if config.warmup_steps <= 1 else min(1.0, t / config.warmup_steps)
    rate = float(config.lr * warm * scale)
    if config.rule == "adamw":
        rate = rate * (1.0 - config.beta2**t) ** 0.5
    peak = rate if rate > counters.largest else float(counters.largest)
    weight = float(t) ** config.step_power * peak**config.lr_power
    total = float(counters.total + weight)
    return rate, (weight / total if total else 0.0), Counters(t, peak, total)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
