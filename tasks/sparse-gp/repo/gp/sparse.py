"""Sparse Gaussian process regression by variational inducing points."""

from __future__ import annotations

import numpy as np

from gp.data import Training  # noqa: F401
from gp.linalg import solve_lower, solve_lower_transposed, stable_cholesky  # noqa: F401
from gp.model import SparseGP


def elbo(model: SparseGP, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray) -> float:
    """Return the collapsed lower bound of the log marginal likelihood."""
    raise NotImplementedError


def inducing_posterior(
    model: SparseGP, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the optimal q(u)."""
    raise NotImplementedError


def predict(
    model: SparseGP,
    x: np.ndarray,
    y: np.ndarray,
    noise: float | np.ndarray,
    x_new: np.ndarray,
    full_cov: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance (or covariance) of the latent function at new points."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
