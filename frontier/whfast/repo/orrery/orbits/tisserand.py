"""Tisserand's parameter."""

import math

from .record import Elements


def tisserand(orbit: Elements, planet: float) -> float:
    """With respect to a planet on a circle of the radius `planet`, in the plane z = 0."""
    a = orbit.q / (1.0 - orbit.e)
    return planet / a + 2.0 * math.cos(orbit.inc) * math.sqrt(a / planet * (1.0 - orbit.e**2))


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
