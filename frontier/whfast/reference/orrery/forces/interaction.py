"""Accelerations of Jacobi coordinates by all that is not a Kepler orbit."""

import numpy as np


def pull(d):
    """d / |d|^3."""
    return d / np.linalg.norm(d) ** 3


def change(d, shift):
    """pull(d) - pull(d + shift), to all digits also of a small shift (Encke)."""
    moved = d + shift
    q = shift @ (shift + 2.0 * d) / (d @ d)
    # 1 - (1 + q)^(-3/2) without the difference
    lost = -np.expm1(-1.5 * np.log1p(q))
    return (lost * moved - shift) / np.linalg.norm(d) ** 3


def kick(gm, x):
    """Accelerations of the Jacobi coordinates `x`.

    The part of a Kepler orbit is subtracted pair by pair: the difference from it is far smaller than itself.
    """
    gm, x = np.asarray(gm, dtype=np.float64), np.asarray(x, dtype=np.float64)
    sums, count = np.cumsum(gm), len(gm)
    # centre of mass of the first i bodies seen from body j: sums of fractions of Jacobi coordinates, no difference of positions
    fractions = gm[1:, None] / sums[1:, None] * x[:-1]
    total = np.zeros_like(x)
    for body in range(1, count):
        own = x[body - 1]
        for inner in range(body):
            # R_{body-1} - r_inner
            shift = fractions[inner : body - 1].sum(axis=0)
            if inner:
                shift = fractions[inner : body - 1].sum(axis=0) - sums[inner - 1] / sums[inner] * x[inner - 1]
            total[body - 1] += sums[body] / sums[body - 1] * gm[inner] * change(own, shift)
            # what the outer body does to the inner orbits
            attraction = gm[body] * pull(own + shift)
            for orbit in range(1, body):
                if inner == orbit:
                    total[orbit - 1] += attraction
                elif inner < orbit:
                    total[orbit - 1] -= gm[inner] / sums[orbit - 1] * attraction
    return total


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
