"""Through the vectors of angular momentum and eccentricity, and half angles."""

import math

import numpy as np

from orrery.angles import wrapped
from orrery.kepler.stumpff import stumpff
from orrery.orbits.limits import CIRCULAR, FLAT
from orrery.orbits.record import Elements


def elements(mu, x, v):
    mu, x, v = float(mu), np.array(x, dtype=float), np.array(v, dtype=float)
    h = np.cross(x, v)
    size = float(np.sqrt(h @ h))
    if size == 0.0:
        raise ValueError("straight line")
    r, eta = float(np.sqrt(x @ x)), float(x @ v)
    p = size**2 / mu
    ec, es = p / r - 1.0, size * eta / (mu * r)
    e = math.sqrt(ec * ec + es * es)
    low = math.hypot(h[0], h[1])
    inc = math.atan2(low, h[2])
    if low / size < FLAT:
        node, n = 0.0, np.array([1.0, 0.0, 0.0])
    else:
        node, n = wrapped(math.atan2(h[0], -h[1])), np.array([-h[1], h[0], 0.0]) / low
    m = np.cross(h, n) / size
    u = math.atan2(float(x @ m), float(x @ n))
    q = p / (1.0 + e)
    if e < CIRCULAR:
        return Elements(q, e, inc, node, 0.0, u * size**3 / mu**2)
    nu = math.atan2(es, ec)
    beta = mu * (1.0 - e) / q
    # tan(nu / 2) sqrt(q / (mu (1 + e))) is tan(E / 2) / sqrt(beta)
    half = math.tan(0.5 * nu) * math.sqrt(q / (mu * (1.0 + e)))
    s = abs(beta) * half**2
    if s < 1e-9:
        anomaly = 2.0 * half * (1.0 - beta * half**2 / 3.0)
    elif beta > 0.0:
        anomaly = 2.0 * math.atan(math.sqrt(s)) / math.sqrt(beta) * (1.0 if half > 0.0 else -1.0)
    else:
        anomaly = 2.0 * math.atanh(min(math.sqrt(s), 1.0 - 1e-16)) / math.sqrt(-beta) * (1.0 if half > 0.0 else -1.0)
    since = q * anomaly + mu * e * anomaly**3 * stumpff(beta * anomaly**2)[3]
    return Elements(q, e, inc, node, wrapped(u - nu), since)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
