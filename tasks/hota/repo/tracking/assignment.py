"""The assignment problem."""

import numpy as np
from scipy.optimize import linear_sum_assignment


def assign(scores: np.ndarray) -> np.ndarray:
    """Pairs (row, column) that use no row and no column twice and have the largest sum of `scores`, which are >= 0.

    There are min(n, m) pairs, in the order of their rows: (min(n, m), 2) int64. Pairs of score 0 are among them.
    """
    return np.stack(linear_sum_assignment(scores, maximize=True), axis=1).astype(np.int64).reshape(-1, 2)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
