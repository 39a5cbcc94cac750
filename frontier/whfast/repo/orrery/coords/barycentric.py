"""Centre of mass."""

import numpy as np

from orrery.bodies.system import System


def centre(gm, y):
    """Mean of rows, by mass."""
    gm = np.asarray(gm)
    return gm @ y / gm.sum()


def at_rest(system: System) -> System:
    """The system seen from its centre of mass."""
    x, v = system.x - centre(system.gm, system.x), system.v - centre(system.gm, system.v)
    return System(gm=system.gm, x=x, v=v, t=system.t, names=system.names)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
