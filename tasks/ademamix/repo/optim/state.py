"""What the optimizer remembers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class State:
    """The state of one parameter.

    step: number of updates this parameter has had.
    fast: m1 of (1), float64, in the parameter's shape; None where beta1 is 0.
    slow: m2 of (2), likewise.
    second: v of (3), likewise.
    """

    step: int
    fast: np.ndarray | None
    slow: np.ndarray
    second: np.ndarray

    @classmethod
    def fresh(cls, shape: tuple[int, ...]) -> State:
        """The state before the first update."""
        return cls(0, np.zeros(shape), np.zeros(shape), np.zeros(shape))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
