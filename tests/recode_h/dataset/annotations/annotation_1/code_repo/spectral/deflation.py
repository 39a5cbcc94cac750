"""Hotelling's deflation."""

import numpy as np


def deflated(matrix, value, vector):
    """`matrix` without the pair (value, vector); a new array."""
    return np.asarray(matrix, dtype=float) - value * np.outer(vector, vector)
