"""The choice of inducing points."""

import numpy as np
from gp.kernels import Kernel

THRESHOLD = 1e-6


def greedy_variance(x: np.ndarray, kernel: Kernel, count: int) -> np.ndarray:
    """Return the indices of at most `count` rows of x, each the one least explained by those before it.

    A pivoted Cholesky factorisation that computes only the columns it pivots on: O(n * count) memory.
    Raises ValueError for a count below one or no points.
    """
    x = np.asarray(x, dtype=np.float64)
    if count < 1 or len(x) == 0:
        raise ValueError(f"cannot choose {count} of {len(x)} points")
    unexplained = np.array(kernel.diag(x), dtype=np.float64)
    enough = THRESHOLD * unexplained.max()
    columns = np.zeros((len(x), 0))
    chosen: list[int] = []
    for _ in range(count):
        pivot = int(np.argmax(unexplained))
        if unexplained[pivot] <= enough:
            break
        residual = kernel(x, x[pivot : pivot + 1])[:, 0] - columns @ columns[pivot]
        columns = np.column_stack([columns, residual / np.sqrt(unexplained[pivot])])
        unexplained = unexplained - columns[:, -1] ** 2
        chosen.append(pivot)
        unexplained[chosen] = -np.inf  # rounding must not bring a point back; once all are chosen, this ends the loop
    return np.array(chosen, dtype=np.int64)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
