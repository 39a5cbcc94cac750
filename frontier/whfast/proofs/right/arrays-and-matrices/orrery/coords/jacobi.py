"""Jacobi coordinates as matrices."""

import numpy as np


def parameters(gm):
    gm = np.array(gm, dtype=float)
    return np.array([gm[: i + 1].sum() for i in range(1, len(gm))] + [0.0])


def _matrix(gm):
    count = len(gm)
    found = np.zeros((count, count))
    for i in range(1, count):
        found[i - 1, :i] = -gm[:i] / gm[:i].sum()
        found[i - 1, i] = 1.0
    found[-1] = gm / gm.sum()
    return found


def to_jacobi(gm, y):
    gm, y = np.array(gm, dtype=float), np.array(y, dtype=float)
    return _matrix(gm) @ y


def from_jacobi(gm, y):
    gm, y = np.array(gm, dtype=float), np.array(y, dtype=float)
    count = len(gm)
    back = np.zeros((count, count))
    back[:, -1] = 1.0
    for i in range(1, count):
        total = gm[: i + 1].sum()
        back[:i, i - 1] = -gm[i] / total
        back[i, i - 1] = gm[:i].sum() / total
    return back @ y


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
