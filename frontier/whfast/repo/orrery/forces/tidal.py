"""Linearised attraction."""

import numpy as np


def tidal(gm, x, dx):
    """Change of the accelerations of `newton` if positions change by a small `dx`."""
    found = np.zeros_like(x)
    for i in range(len(gm)):
        for j in range(len(gm)):
            if i != j:
                d, change = x[i] - x[j], dx[i] - dx[j]
                r = np.sqrt(d @ d)
                found[i] -= gm[j] * (change - 3.0 * d * (d @ change) / r**2) / r**3
    return found


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
