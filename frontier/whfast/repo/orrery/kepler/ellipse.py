"""Kepler's equation of an ellipse (of the first version of the package; not for orbits close to a parabola)."""

import math

from orrery.angles import signed


def eccentric_anomaly(mean: float, e: float) -> float:
    """E of E - e sin E = M, for -pi <= M <= pi, by bisection and Newton's method."""
    low, high = -math.pi - 1e-9, math.pi + 1e-9
    guess = mean + e * math.sin(mean)
    for _ in range(200):
        miss = mean - (guess - e * math.sin(guess))
        low, high = (guess, high) if miss > 0.0 else (low, guess)
        better = guess + miss / (1.0 - e * math.cos(guess))
        better = better if low < better < high else 0.5 * (low + high)
        if abs(better - guess) < 1e-16 * abs(guess) or miss == 0.0:
            return guess
        guess = better
    return guess


def ellipse(mu: float, q: float, e: float, since: float) -> tuple[float, float]:
    """Distance and true anomaly, `since` days after the pericentre."""
    a = q / (1.0 - e)
    anomaly = eccentric_anomaly(signed(since * math.sqrt(mu / a**3)), e)
    true = 2.0 * math.atan2(math.sqrt(1.0 + e) * math.sin(0.5 * anomaly), math.sqrt(1.0 - e) * math.cos(0.5 * anomaly))
    return q + a * e * 2.0 * math.sin(0.5 * anomaly) ** 2, true


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
