"""Exact sums, rounded once for the total and once for the rest."""

from fractions import Fraction

import numpy as np


def _one(total, carry, increment):
    exact = Fraction(float(total)) - Fraction(float(carry)) + Fraction(float(increment))
    new = float(exact)
    return new, float(Fraction(new) - exact)


def accumulate(total, carry, increment):
    if np.ndim(total) == 0 and np.ndim(increment) == 0:
        return _one(total, carry, increment)
    total, carry, increment = np.broadcast_arrays(total, carry, increment)
    pairs = [_one(*each) for each in zip(total.ravel(), carry.ravel(), increment.ravel())]
    return tuple(np.array([each[which] for each in pairs]).reshape(total.shape) for which in (0, 1))


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
