"""Stumpff functions c_0 to c_5."""

import math

SERIES = 10.0
"""Up to this size of the argument, the power series loses no digits that matter."""
FACTORS = [[1.0 / math.factorial(2 * power + order) for power in range(24)] for order in range(6)]


def stumpff(z: float) -> tuple[float, float, float, float, float, float]:
    """Values c_0(z), ..., c_5(z)."""
    z = float(z)
    if abs(z) < SERIES:
        return tuple(series(z, order) for order in range(6))
    root = math.sqrt(abs(z))
    c0, c1 = (math.cos(root), math.sin(root) / root) if z > 0.0 else (math.cosh(root), math.sinh(root) / root)
    c2, c3 = (1.0 - c0) / z, (1.0 - c1) / z
    return c0, c1, c2, c3, (0.5 - c2) / z, (1.0 / 6.0 - c3) / z


def series(z: float, order: int) -> float:
    """The power series of c_order by Horner's rule."""
    total = 0.0
    for factor in reversed(FACTORS[order]):
        total = factor - z * total
    return total


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
