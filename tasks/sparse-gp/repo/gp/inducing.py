"""The choice of inducing points."""

import numpy as np

from gp.kernels import Kernel

THRESHOLD = 1e-6


def greedy_variance(x: np.ndarray, kernel: Kernel, count: int) -> np.ndarray:
    """Return the indices of at most `count` rows of x, chosen one by one."""
    raise NotImplementedError
