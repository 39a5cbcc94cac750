"""Kicks of democratic heliocentric coordinates."""

import numpy as np


def mutual(gm, x):
    """Accelerations of the bodies 1, 2, ... by one another, and none for the last row, the centre of mass."""
    found = np.zeros_like(x)
    for i in range(len(gm) - 1):
        for j in range(len(gm) - 1):
            if i != j:
                d = x[i] - x[j]
                found[i] -= gm[j + 1] * d / np.linalg.norm(d) ** 3
    return found


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
