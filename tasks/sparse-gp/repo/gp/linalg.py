"""Factorisations."""

import numpy as np
from scipy.linalg import solve_triangular

JITTER = 1e-9


def stable_cholesky(matrix: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor of matrix + JITTER * mean(diag(matrix)) * I.

    The jitter keeps covariance matrices factorable whose points repeat or nearly do.
    """
    shift = JITTER * np.mean(np.diag(matrix))
    return np.linalg.cholesky(matrix + shift * np.eye(len(matrix)))


def solve_lower(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return factor^-1 right, for a lower triangular factor."""
    return solve_triangular(factor, right, lower=True)


def solve_lower_transposed(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return factor^-T right, for a lower triangular factor."""
    return solve_triangular(factor, right, lower=True, trans="T")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
