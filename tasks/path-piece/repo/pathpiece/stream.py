"""Reproducible randomness."""

from __future__ import annotations

import numpy as np


class Uniforms:
    """A stream of numbers in [0, 1): the same seed gives the same numbers, however they are grouped."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def take(self, count: int) -> np.ndarray:
        """Return the next `count` numbers, (count,)."""
        return self._generator.random(count)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
