"""The choice of inducing points."""

import numpy as np

from gp.kernels import Kernel

THRESHOLD = 1e-6


def greedy_variance(x: np.ndarray, kernel: Kernel, count: int) -> np.ndarray:
    """Return the indices of at most `count` rows of x, chosen one by one."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or len(x) == 0:
        raise ValueError(f"x must be of shape (n, d) with n >= 1, not {x.shape}")
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")

    # Of the pivoted Cholesky factor only the finished columns are kept. A point that was chosen has -inf left.
    left = np.array(kernel.diag(x), dtype=np.float64)
    least = THRESHOLD * left.max()
    chosen: list[int] = []
    columns: list[np.ndarray] = []
    while len(chosen) < count:
        pivot = int(np.argmax(left))
        if left[pivot] <= least:
            break
        column = np.array(kernel(x, x[pivot : pivot + 1])[:, 0])
        for earlier in columns:
            column -= earlier[pivot] * earlier
        column /= np.sqrt(left[pivot])
        left -= column * column
        left[pivot] = -np.inf
        chosen.append(pivot)
        columns.append(column)
    return np.array(chosen, dtype=np.int64)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
