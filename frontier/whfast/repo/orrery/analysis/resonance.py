"""Mean motion resonances."""

from orrery.orbits.periods import period

from .osculating import osculating


def ratio(system, mu, outer: str, inner: str) -> float:
    """Of two periods."""
    orbits = osculating(system)
    return period(mu, orbits[outer]) / period(mu, orbits[inner])


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
