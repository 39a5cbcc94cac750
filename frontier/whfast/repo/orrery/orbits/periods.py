"""Periods."""

import math

from .record import Elements


def period(mu: float, orbit: Elements) -> float:
    """Of an ellipse, in days."""
    return 2.0 * math.pi * math.sqrt((orbit.q / (1.0 - orbit.e)) ** 3 / mu)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
