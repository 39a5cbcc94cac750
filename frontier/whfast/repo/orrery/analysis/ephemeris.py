"""Places of one body on its Kepler orbit."""

import numpy as np

from orrery.kepler.drift import increments


def places(mu: float, x, v, times) -> np.ndarray:
    """Positions `(T, 3)` at times after the state."""
    found = []
    for time in times:
        dx, _ = increments(np.array([mu]), np.array([x]), np.array([v]), float(time))
        found.append(np.asarray(x) + dx[0])
    return np.array(found)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
