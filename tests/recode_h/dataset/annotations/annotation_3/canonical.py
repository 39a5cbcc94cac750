"""Halton points with a random rotation."""

import numpy as np


def radical_inverse(index, base):
    value, factor = 0.0, 1.0 / base
    while index:
        index, digit = divmod(index, base)
        value += digit * factor
        factor /= base
    return value


def rotated_halton(count, bases, shift):
    points = [[radical_inverse(index, base) for base in bases] for index in range(1, count + 1)]
    return (np.array(points).reshape(count, len(bases)) + np.asarray(shift)) % 1.0
