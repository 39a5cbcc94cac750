"""Jacobi coordinates: each body relative to the centre of mass of those before it; the last row is the centre of mass of all."""

import numpy as np


def parameters(gm):
    """Gravitational parameter of the Kepler orbit of each row; the centre of mass has none."""
    return np.append(np.cumsum(np.asarray(gm, dtype=np.float64))[1:], 0.0)


def to_jacobi(gm, y):
    """Rows of Jacobi coordinates."""
    gm, y = np.asarray(gm, dtype=np.float64), np.asarray(y, dtype=np.float64)
    centre, inner, rows = y[0], gm[0], []
    for mass, body in zip(gm[1:], y[1:], strict=True):
        apart = body - centre
        rows.append(apart)
        inner = inner + mass
        centre = centre + mass / inner * apart
    return np.array([*rows, centre])


def from_jacobi(gm, y):
    """The inverse of `to_jacobi`."""
    gm, y = np.asarray(gm, dtype=np.float64), np.asarray(y, dtype=np.float64)
    sums = np.cumsum(gm)
    centre, rows = y[-1], []
    for body in range(len(gm) - 1, 0, -1):
        centre = centre - gm[body] / sums[body] * y[body - 1]
        rows.append(centre + y[body - 1])
    return np.array([centre, *rows[::-1]])


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
