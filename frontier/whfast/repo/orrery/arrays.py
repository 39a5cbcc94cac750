"""Arrays that come in."""

import numpy as np


def rows(y, count=None):
    """A copy as float64 `(N, 3)`."""
    y = np.array(y, dtype=np.float64)
    if y.ndim != 2 or y.shape[1] != 3 or (count is not None and len(y) != count):
        raise ValueError(f"expected rows of three numbers, not the shape {y.shape}")
    return y


def vector(y):
    """A copy as float64 `(N,)`."""
    y = np.array(y, dtype=np.float64)
    if y.ndim != 1:
        raise ValueError(f"expected a vector, not the shape {y.shape}")
    return y


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
