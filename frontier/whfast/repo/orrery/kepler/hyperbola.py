"""Kepler's equation of a hyperbola (of the first version of the package; not for orbits close to a parabola)."""

import math


def hyperbola(mu: float, q: float, e: float, since: float) -> tuple[float, float]:
    """Distance and true anomaly, `since` days after the pericentre."""
    a = q / (e - 1.0)
    mean = since * math.sqrt(mu / a**3)
    guess = math.asinh(mean / e)
    for _ in range(200):
        step = (mean - (e * math.sinh(guess) - guess)) / (e * math.cosh(guess) - 1.0)
        step = max(-1.0, min(1.0, step))
        guess += step
        if abs(step) < 1e-15 * abs(guess) or step == 0.0:
            break
    half = 0.5 * guess
    true = 2.0 * math.atan2(math.sqrt(e + 1.0) * math.sinh(half), math.sqrt(e - 1.0) * math.cosh(half))
    return q + a * e * 2.0 * math.sinh(half) ** 2, true


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
