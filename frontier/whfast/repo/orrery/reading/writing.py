"""Writes systems."""

from orrery.bodies.system import System


def entry(system: System) -> dict:
    """What `stored.system` reads."""
    return {
        "gm": system.gm.tolist(),
        "x": system.x.tolist(),
        "v": system.v.tolist(),
        "t": system.t,
        "names": list(system.names),
    }


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
