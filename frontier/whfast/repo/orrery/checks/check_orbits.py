"""python -m orrery.checks.check_orbits: stored states and elements belong together."""

import numpy as np

from orrery.bodies.from_elements import state
from orrery.reading.orbits import orbits

if __name__ == "__main__":
    for mu, x, v, orbit in orbits():
        place, motion = state(mu, orbit)
        print(orbit.e, np.abs(place - x).max(), np.abs(motion - v).max())
# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
