"""k-vectors, found one by one."""

import math

import numpy as np


def k_indices(cell, cutoff):
    """Walk over a box of indices that surely holds the sphere, and keep one of each pair."""
    cell = [[float(x) for x in row] for row in np.asarray(cell, dtype=float)]
    dual = 2.0 * math.pi * np.linalg.inv(np.array(cell))
    limits = [int(cutoff * math.hypot(*row) / (2.0 * math.pi)) + 1 for row in cell]
    found = []
    for a in range(limits[0] + 1):
        for b in range(-limits[1] if a else 0, limits[1] + 1):
            for c in range(-limits[2] if (a or b) else 1, limits[2] + 1):
                if math.hypot(*(dual @ (a, b, c))) <= cutoff:
                    found.append((a, b, c))
    return np.array(found, dtype=np.int64).reshape(-1, 3)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
