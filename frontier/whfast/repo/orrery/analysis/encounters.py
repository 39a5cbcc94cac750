"""Close encounters."""

import numpy as np

from orrery.bodies.system import System


def closest(system: System) -> tuple[str, str, float]:
    """The two bodies that are closest to each other."""
    best = None
    for i in range(len(system.gm)):
        for j in range(i):
            distance = float(np.linalg.norm(system.x[i] - system.x[j]))
            if best is None or distance < best[2]:
                best = system.names[j], system.names[i], distance
    return best


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
