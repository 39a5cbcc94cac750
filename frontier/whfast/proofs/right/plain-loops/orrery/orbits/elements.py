"""From the angular momentum; the eccentric anomaly, or its series near a parabola."""

import math

import numpy as np

from orrery.angles import signed, wrapped
from orrery.orbits.limits import CIRCULAR, FLAT
from orrery.orbits.record import Elements


def since_pericentre(mu, q, e, nu):
    """Time by the tangent of half the true anomaly, from a power series near a parabola."""
    w = math.tan(0.5 * nu)
    l = (1.0 - e) / (1.0 + e)
    s = l * w * w
    if abs(s) < 0.05:
        # t sqrt(mu (1 + e) / q^3) / 2 = sum of (-s)^k (w + ...) : int (1 + w^2) / (1 + l w^2)^2
        total, power = 0.0, w
        for k in range(40):
            total += (-1) ** k * (k + 1) * (w * s**k / (2 * k + 1) + w**3 * s**k / (2 * k + 3))
        return 2.0 * math.sqrt(q**3 / (mu * (1.0 + e))) * total
    if l > 0.0:
        E = 2.0 * math.atan(math.sqrt(l) * w)
        return (E - e * math.sin(E)) * math.sqrt((q / (1.0 - e)) ** 3 / mu)
    F = 2.0 * math.atanh(math.sqrt(-l) * w)
    return (e * math.sinh(F) - F) * math.sqrt((q / (e - 1.0)) ** 3 / mu)


def elements(mu, x, v):
    x, v = np.array(x, float), np.array(v, float)
    h = np.cross(x, v)
    k = float(np.linalg.norm(h))
    if k == 0.0:
        raise ValueError("no area")
    r = float(np.linalg.norm(x))
    inc = float(np.arctan2(np.hypot(h[0], h[1]), h[2]))
    node = 0.0 if np.sin(inc) < FLAT else float(np.arctan2(h[0], -h[1]))
    first = np.array([np.cos(node), np.sin(node), 0.0])
    second = np.cross(h / k, first)
    u = float(np.arctan2(x @ second, x @ first))
    ecc = k * k / (mu * r) - 1.0, k * float(x @ v) / (mu * r)
    e = math.hypot(*ecc)
    q = k * k / mu / (1.0 + e)
    if e < CIRCULAR:
        return Elements(float(q), float(e), inc, wrapped(node), 0.0, signed(u) * k**3 / float(mu) ** 2)
    nu = math.atan2(ecc[1], ecc[0])
    return Elements(float(q), float(e), inc, wrapped(node), wrapped(u - nu), float(since_pericentre(float(mu), q, e, nu)))


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
