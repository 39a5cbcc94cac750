"""Drift on ellipses (of the first version of the package): one body after another, through the eccentric anomaly.

It loses digits for short steps and for eccentric orbits, and knows neither hyperbolas nor changes of a start. `drift.py` replaces it.
"""

import numpy as np

from orrery.angles import signed

from .ellipse import eccentric_anomaly


def classic(mu, x, v, dt):
    """Changes of positions and velocities, `(N, 3)` each. A row without a centre (mu = 0) moves on a straight line."""
    dx, dv = np.zeros_like(x), np.zeros_like(v)
    for row, (centre, place, motion) in enumerate(zip(mu, x, v, strict=True)):
        if centre == 0.0:
            dx[row] = dt * motion
            continue
        r = np.linalg.norm(place)
        a = 1.0 / (2.0 / r - motion @ motion / centre)
        n = np.sqrt(centre / a**3)
        sine, cosine = place @ motion / np.sqrt(centre * a), 1.0 - r / a
        e, start = np.hypot(sine, cosine), np.arctan2(sine, cosine)
        end = eccentric_anomaly(signed(start - e * np.sin(start) + n * dt), e)
        turn = end - start
        there = a * (1.0 - e * np.cos(end))
        f = 1.0 - a / r * (1.0 - np.cos(turn))
        g = (np.sin(turn) - e * (np.sin(end) - np.sin(start))) / n
        new = f * place + g * motion
        speed = (
            -np.sqrt(centre * a) / (r * there) * np.sin(turn) * place
            + (1.0 - a / there * (1.0 - np.cos(turn))) * motion
        )
        dx[row], dv[row] = new - place, speed - motion
    return dx, dv


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
