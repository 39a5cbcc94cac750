"""Democratic heliocentric coordinates: places seen from body 0, velocities seen from the centre of mass.

The rows are those of bodies 1, 2, ..., and after them that of the centre of mass, as in all canonical coordinates of this package.
"""

import numpy as np

from .barycentric import centre


def to_democratic(gm, x, v):
    """Places and velocities, `(N, 3)` each."""
    middle = centre(gm, v)
    return np.vstack([x[1:] - x[0], centre(gm, x)]), np.vstack([v[1:] - middle, middle])


def from_democratic(gm, x, v):
    """The inverse."""
    gm = np.asarray(gm)
    heaviest = x[-1] - gm[1:] @ x[:-1] / gm.sum()
    recoil = -gm[1:] @ v[:-1] / gm[0]
    return np.vstack([heaviest, heaviest + x[:-1]]), np.vstack([recoil, v[:-1]]) + v[-1]


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
