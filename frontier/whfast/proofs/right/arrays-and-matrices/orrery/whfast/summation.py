"""Branches by size (Neumaier), and the rest is normalised."""

import numpy as np


def _two(a, b):
    s = a + b
    e = np.where(np.abs(a) >= np.abs(b), (a - s) + b, (b - s) + a)
    return s, e


def accumulate(total, carry, increment):
    s, e = _two(total, increment)
    s, e = _two(s, e - carry)
    if np.ndim(s) == 0:
        return float(s), -float(e)
    return s, -e


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
