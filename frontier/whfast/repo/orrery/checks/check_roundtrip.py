"""python -m orrery.checks.check_roundtrip: democratic coordinates and back."""

import numpy as np

from orrery.bodies.catalogue import load
from orrery.coords.democratic import from_democratic, to_democratic

if __name__ == "__main__":
    system = load("outer")
    x, v = from_democratic(system.gm, *to_democratic(system.gm, system.x, system.v))
    print(np.abs(x - system.x).max(), np.abs(v - system.v).max())
# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
