"""The implicit codebook."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A grid of codes: `levels[j]` values in dimension j.

    eps: how far bounded numbers stay away from the outermost integers (relative to their distance from 0), see equation (1).
    """

    levels: tuple[int, ...]
    eps: float = 1e-3

    def __post_init__(self) -> None:
        levels = tuple(int(level) for level in self.levels)
        if not levels or min(levels) < 3 or math.prod(levels) >= 2**63:
            raise ValueError(f"a grid needs levels of at least 3 and fewer than 2**63 codes, not {levels}")
        if not 0.0 < self.eps * (max(levels) - 1) < 1.0:
            raise ValueError(f"eps must be positive and below 1 / (largest level - 1), not {self.eps}")
        object.__setattr__(self, "levels", levels)

    @property
    def size(self) -> int:
        """Number of codes, a Python integer."""
        return math.prod(self.levels)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
