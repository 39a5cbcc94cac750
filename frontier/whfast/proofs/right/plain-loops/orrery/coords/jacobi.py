"""Loops over the definition."""

import numpy as np


def parameters(gm):
    total, found = 0.0, []
    for m in gm:
        total += float(m)
        found.append(total)
    return np.array([*found[1:], 0.0])


def to_jacobi(gm, y):
    gm, y = np.array(gm, float), np.array(y, float)
    rows, weighted, mass = [], np.zeros(3), 0.0
    for m, row in zip(gm, y):
        if mass:
            rows.append(row - weighted / mass)
        weighted = weighted + m * row
        mass += m
    return np.array([*rows, weighted / mass])


def from_jacobi(gm, y):
    gm, y = np.array(gm, float), np.array(y, float)
    found = np.empty(y.shape)
    mass, weighted = gm.sum(), gm.sum() * y[-1]
    for i in range(len(gm) - 1, 0, -1):
        inner = mass - gm[i] if i > 1 else gm[0]
        inner = gm[:i].sum()
        centre = (weighted - gm[i] * y[i - 1]) / (inner + gm[i])
        found[i] = centre + y[i - 1]
        mass, weighted = inner, inner * centre
    found[0] = weighted / gm[0]
    return found


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
