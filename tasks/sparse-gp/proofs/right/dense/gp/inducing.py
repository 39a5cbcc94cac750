"""Greedy choice by Gram-Schmidt on the columns of the covariance."""

import numpy as np

THRESHOLD = 1e-6


def greedy_variance(x, kernel, count):
    points = np.array(x, dtype=np.float64)
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    if len(points) == 0:
        raise ValueError("x has no points")
    prior = np.array(kernel.diag(points), dtype=np.float64)
    left = prior.copy()
    least = THRESHOLD * prior.max()
    chosen, columns = [], []
    while len(chosen) < min(count, len(points)):
        open_ = left.copy()
        open_[chosen] = -np.inf
        best = int(np.argmax(open_))
        if not open_[best] > least:
            break
        column = kernel(points, points[best : best + 1])[:, 0].astype(np.float64)
        for earlier in columns:
            column = column - earlier * earlier[best]
        column = column / np.sqrt(left[best])
        columns.append(column)
        left = left - column**2
        chosen.append(best)
    return np.array(chosen, dtype=np.int64)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
