"""Orbits of a system of the catalogue."""

from orrery.analysis.osculating import osculating
from orrery.bodies.catalogue import load
from orrery.coords.jacobi import parameters
from orrery.orbits.describe import describe


def report(name: str) -> str:
    """A line for each body."""
    system = load(name)
    mu = parameters(system.gm)
    return "\n".join(
        f"{body}: {describe(mu[row], orbit)}" for row, (body, orbit) in enumerate(osculating(system).items())
    )


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
