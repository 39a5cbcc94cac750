"""The largest term of general relativity, as a potential."""

from orrery.units import LIGHT


def precession(mu: float, x, v):
    """Additional acceleration of a planet: the right advance of the pericentre, by a force that goes with 1 / r^3."""
    r2 = x @ x
    return -6.0 * mu**2 / LIGHT**2 * x / r2**2


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
