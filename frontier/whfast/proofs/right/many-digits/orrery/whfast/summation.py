"""Knuth's sum of two numbers, twice."""

import numpy as np


def exactly(a, b):
    s = np.add(a, b)
    t = s - a
    return s, (a - (s - t)) + (b - t)


def accumulate(total, carry, increment):
    high, low = exactly(total, increment)
    high, rest = exactly(high, low - carry)
    return high, np.negative(rest)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
