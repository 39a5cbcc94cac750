"""Time reversal."""

from .system import System


def mirrored(system: System) -> System:
    """The same places, with all velocities reversed."""
    return System(gm=system.gm, x=system.x, v=-system.v, t=system.t, names=system.names)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
