"""From orbital elements to a state: the inverse of `orbits.elements.elements`."""

import math

import numpy as np

from orrery.coords.rotations import perifocal
from orrery.kepler.barker import parabola
from orrery.kepler.ellipse import ellipse
from orrery.kepler.hyperbola import hyperbola
from orrery.orbits.limits import PARABOLIC
from orrery.orbits.record import Elements


def state(mu: float, orbit: Elements) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity around a centre with the parameter `mu`."""
    solve = ellipse if orbit.e < 1.0 else hyperbola
    if abs(1.0 - orbit.e) < PARABOLIC:
        solve = parabola
    r, true = solve(mu, orbit.q, orbit.e, orbit.since)
    p = orbit.q * (1.0 + orbit.e)
    speed = math.sqrt(mu / p)
    place = np.array([r * math.cos(true), r * math.sin(true), 0.0])
    motion = np.array([-speed * math.sin(true), speed * (orbit.e + math.cos(true)), 0.0])
    turn = perifocal(orbit.node, orbit.inc, orbit.peri)
    return turn @ place, turn @ motion


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
