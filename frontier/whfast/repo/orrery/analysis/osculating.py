"""Osculating orbits of all bodies, in the hierarchy of Jacobi coordinates."""

from orrery.bodies.system import System
from orrery.coords.jacobi import parameters, to_jacobi
from orrery.orbits.elements import elements
from orrery.orbits.record import Elements


def osculating(system: System) -> dict[str, Elements]:
    """By name; body 0 has none."""
    mu = parameters(system.gm)
    x, v = to_jacobi(system.gm, system.x), to_jacobi(system.gm, system.v)
    return {name: elements(mu[row], x[row], v[row]) for row, name in enumerate(system.names[1:])}


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
