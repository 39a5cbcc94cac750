"""Learning rates and weights of the average."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import math

from .config import Config
from .state import Counters


def advance(counters: Counters, config: Config, scale: float = 1.0) -> tuple[float, float, Counters]:
    """Learning rate and averaging coefficient of the next step, and the counters after it."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
