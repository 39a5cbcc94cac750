"""Barker's equation: motion on a parabola."""

import math


def parabola(mu: float, q: float, e: float, since: float) -> tuple[float, float]:
    """Distance and true anomaly, `since` days after the pericentre; `e` is taken to be 1."""
    half = 1.5 * since * math.sqrt(mu / (2.0 * q**3))
    root = (
        math.copysign(math.cbrt(abs(half) + math.sqrt(half * half + 1.0)), half)
        if hasattr(math, "cbrt")
        else (math.copysign((abs(half) + math.sqrt(half * half + 1.0)) ** (1.0 / 3.0), half))
    )
    tangent = root - 1.0 / root
    return q * (1.0 + tangent * tangent), 2.0 * math.atan(tangent)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
