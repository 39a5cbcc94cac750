"""What the calibration returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """A lambda of the grid.

    position: its index in the grid, int.
    value: the lambda itself, float.
    risk: the left side of equation (6) at this lambda, float.
    satisfied: whether the condition is met there, bool.
    """

    position: int
    value: float
    risk: float
    satisfied: bool


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
