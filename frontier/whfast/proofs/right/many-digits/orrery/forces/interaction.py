"""Encke's form for body 0; the other bodies are small anyway... but not always: it is used for each pair."""

import numpy as np


def _cube(d):
    s = float(d @ d)
    return s * np.sqrt(s)


def _less(d, e):
    """(d + e) / |d + e|^3 - d / |d|^3."""
    u = float(e @ (2.0 * d + e)) / float(d @ d)
    # (1 + u)^(-3/2) - 1 = -(3 + 3 u + u^2) u / ((1 + u)^(3/2) (1 + (1 + u)^(3/2)))
    w = (1.0 + u) ** 1.5
    factor = -(3.0 + 3.0 * u + u * u) * u / (w * (1.0 + w))
    return (e + factor * (d + e)) / _cube(d)


def kick(gm, x):
    gm, x = np.array(gm, float), np.array(x, float)
    count = len(gm)
    M = [gm[: i + 1].sum() for i in range(count)]

    def offset(j, i):
        """From body j to the centre of mass of the bodies before i."""
        found = np.zeros(3)
        for k in range(j + 1, i):
            found += gm[k] / M[k] * x[k - 1]
        if j and j < i:
            found -= M[j - 1] / M[j] * x[j - 1]
        return found

    result = np.zeros(x.shape)
    for i in range(1, count):
        row = np.zeros(3)
        for j in range(i):
            row -= gm[j] * (M[i] / M[i - 1]) * _less(x[i - 1], offset(j, i))
        for k in range(i + 1, count):
            if gm[k] == 0.0:
                continue
            own = x[k - 1] + offset(i, k)
            pull = own / _cube(own)
            for j in range(i):
                other = x[k - 1] + offset(j, k)
                pull = pull - gm[j] / M[i - 1] * (other / _cube(other))
            row += gm[k] * pull
        result[i - 1] = row
    return result


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
