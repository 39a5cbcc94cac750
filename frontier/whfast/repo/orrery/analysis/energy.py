"""Energy, times the gravitational constant."""

import numpy as np

from orrery.bodies.system import System


def energy(system: System) -> float:
    """Kinetic and potential energy."""
    found = 0.5 * float(system.gm @ np.sum(system.v**2, axis=1))
    for i in range(len(system.gm)):
        for j in range(i):
            found -= system.gm[i] * system.gm[j] / float(np.linalg.norm(system.x[i] - system.x[j]))
    return found


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
