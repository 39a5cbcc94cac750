"""The exact Gaussian process: what the sparse one approximates. Cubic in the number of points."""

from __future__ import annotations

import numpy as np

from gp.data import Training
from gp.kernels import Kernel
from gp.linalg import solve_lower


def log_marginal_likelihood(x, y, noise, kernel: Kernel, mean: float = 0.0) -> float:
    """Return log N(y | mean, K + diag(noise)), summed over the columns of y."""
    data = Training.of(x, y, noise)
    factor = np.linalg.cholesky(kernel(data.x, data.x) + np.diag(data.noise))
    whitened = solve_lower(factor, data.y - mean)
    log_determinant = 2.0 * np.sum(np.log(np.diag(factor)))
    count, outputs = data.y.shape
    return float(-0.5 * (np.sum(whitened**2) + outputs * (log_determinant + count * np.log(2.0 * np.pi))))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
