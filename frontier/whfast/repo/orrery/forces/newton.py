"""Newton's law."""

import numpy as np


def newton(gm, x):
    """Accelerations `(N, 3)` of all bodies in an inertial frame."""
    found = np.zeros_like(x)
    for i in range(len(gm)):
        for j in range(i):
            d = x[i] - x[j]
            weight = d / (d @ d) ** 1.5
            found[i] -= gm[j] * weight
            found[j] += gm[i] * weight
    return found


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
