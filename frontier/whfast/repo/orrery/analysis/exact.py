"""Sums without rounding, to judge others."""

from fractions import Fraction


def exact(total: float, carry: float) -> Fraction:
    """The value of a sum that is kept in two numbers, see `integrators/lost.py`."""
    return Fraction(total) - Fraction(carry)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
