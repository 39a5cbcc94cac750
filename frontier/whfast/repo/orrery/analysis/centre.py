"""Does the centre of mass move on a straight line?"""

import numpy as np

from orrery.bodies.system import System
from orrery.coords.jacobi import to_jacobi


def wander(before: System, after: System) -> float:
    """Distance of the centre of mass from where it should be."""
    place, motion = to_jacobi(before.gm, before.x)[-1], to_jacobi(before.gm, before.v)[-1]
    return float(np.linalg.norm(to_jacobi(after.gm, after.x)[-1] - place - (after.t - before.t) * motion))


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
