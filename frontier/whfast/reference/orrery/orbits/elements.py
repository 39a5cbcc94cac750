"""Orbital elements of a state."""

import math

import numpy as np
from orrery.angles import wrapped
from orrery.kepler.stumpff import stumpff

from .limits import CIRCULAR, FLAT
from .record import Elements


def elements(mu: float, x, v) -> Elements:
    """Elements of the orbit of a body with the state (x, v) around a centre with the parameter mu."""
    x, v = np.asarray(x, dtype=np.float64), np.asarray(v, dtype=np.float64)
    spin = np.cross(x, v)
    r, eta, h = math.hypot(*x), float(x @ v), math.hypot(*spin)
    if h == 0.0:
        raise ValueError("the orbit is a straight line and has no elements")
    inc = math.atan2(math.hypot(spin[0], spin[1]), spin[2])
    flat = math.sin(inc) < FLAT
    node = 0.0 if flat else math.atan2(spin[0], -spin[1])
    along = np.array([math.cos(node), math.sin(node), 0.0])
    latitude = math.atan2(float(np.cross(spin, along) @ x) / h, float(along @ x))
    cosine, sine = h * h / (mu * r) - 1.0, h * eta / (mu * r)
    e = math.hypot(cosine, sine)
    if e < CIRCULAR:
        peri, since = 0.0, latitude * h**3 / mu**2
    else:
        peri = latitude - math.atan2(sine, cosine)
        since = since_pericentre(mu, r, eta, float(2.0 * mu / r - v @ v), e, h * h / (mu * (1.0 + e)))
    return Elements(q=h * h / (mu * (1.0 + e)), e=e, inc=inc, node=wrapped(node), peri=wrapped(peri), since=since)


def since_pericentre(mu: float, r: float, eta: float, beta: float, e: float, q: float) -> float:
    """Time since the pericentre, also of a parabola and of orbits that are nearly one."""
    if beta > 0.0:
        root = math.sqrt(beta)
        anomaly = math.atan2(root * eta / mu, 1.0 - beta * r / mu) / root
    elif beta < 0.0:
        root = math.sqrt(-beta)
        anomaly = math.asinh(root * eta / (mu * e)) / root
    else:
        anomaly = eta / (mu * e)
    return q * anomaly + mu * e * anomaly**3 * stumpff(beta * anomaly**2)[3]


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
