"""Angles in radians."""

import math

TURN = 2.0 * math.pi


def wrapped(angle: float) -> float:
    """The same angle in [0, 2 pi)."""
    angle = angle % TURN
    return 0.0 if angle >= TURN else angle


def signed(angle: float) -> float:
    """The same angle in (-pi, pi]."""
    angle = wrapped(angle)
    return angle - TURN if angle > math.pi else angle


def degrees(angle: float) -> float:
    """For people."""
    return math.degrees(angle)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
