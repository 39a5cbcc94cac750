"""Learning rates."""

from __future__ import annotations

import math


def cosine(step: int, steps: int, peak: float, warmup: int = 0) -> float:
    """The learning rate of update `step` (from 0) of `steps`: linear warm-up to `peak`, then half a cosine to zero."""
    if step < warmup:
        return peak * step / warmup
    return 0.5 * peak * (1.0 + math.cos(math.pi * (step - warmup) / max(steps - warmup, 1)))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
