"""The choice of inducing points."""

import numpy as np

from gp.kernels import Kernel

THRESHOLD = 1e-6
"""The share of the largest prior variance that is not worth another point."""


def greedy_variance(x: np.ndarray, kernel: Kernel, count: int) -> np.ndarray:
    """Return the indices of at most `count` rows of x, chosen one by one: always the one that is least explained so far.

    This is Cholesky factorisation of the covariance with diagonal pivoting. It ends early where the largest unexplained
    variance is at most THRESHOLD times the largest prior variance.
    """
    x = np.array(x, dtype=np.float64)
    if count < 1 or x.ndim != 2 or len(x) == 0:
        raise ValueError(f"cannot choose {count} points of an array of shape {x.shape}")
    unexplained = np.array(kernel.diag(x), dtype=np.float64)
    floor = THRESHOLD * unexplained.max()
    rows = np.empty((min(count, len(x)), len(x)))  # rows of the transposed Cholesky factor
    chosen: list[int] = []
    for step, row in enumerate(rows):
        best = int(np.argmax(unexplained))
        if not unexplained[best] > floor:
            break
        earlier = rows[:step]
        row[:] = (kernel(x, x[best : best + 1])[:, 0] - earlier[:, best] @ earlier) / np.sqrt(unexplained[best])
        unexplained -= row**2
        # Nothing is left of the point itself and of its copies, whatever rounding says.
        unexplained[(x == x[best]).all(axis=1)] = 0.0
        chosen.append(best)
    return np.array(chosen, dtype=np.int64)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
