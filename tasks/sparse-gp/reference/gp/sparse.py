"""Sparse Gaussian process regression by variational inducing points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gp.data import Training
from gp.linalg import solve_lower, solve_lower_transposed, stable_cholesky
from gp.model import SparseGP


@dataclass(frozen=True)
class Factors:
    """All that the bound and the posterior share. Nothing here is of size n x n."""

    root: np.ndarray  # (m, m): L, the lower Cholesky factor of Kuu
    whitened: np.ndarray  # (m, n): A = L^-1 Kuf S^-1/2, with S the diagonal of the noise variances
    residual: np.ndarray  # (n, p): S^-1/2 (y - mean)
    lower: np.ndarray  # (m, m): the lower Cholesky factor of B = I + A A^T, whose eigenvalues are at least one
    projected: np.ndarray  # (m, p): lower^-1 A residual


def factorise(model: SparseGP, data: Training) -> Factors:
    """Factor the two m x m matrices that everything follows from."""
    scale = np.sqrt(data.noise)
    root = stable_cholesky(model.kernel(model.inducing, model.inducing))
    whitened = solve_lower(root, model.kernel(model.inducing, data.x)) / scale
    residual = (data.y - model.mean) / scale[:, None]
    lower = np.linalg.cholesky(np.eye(len(root)) + whitened @ whitened.T)
    projected = solve_lower(lower, whitened @ residual)
    return Factors(root=root, whitened=whitened, residual=residual, lower=lower, projected=projected)


def elbo(model: SparseGP, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray) -> float:
    """Return the collapsed lower bound of the log marginal likelihood, summed over outputs.

    Determinant and quadratic form of Qff + S come from B: the determinant lemma and Woodbury's identity.
    """
    data = Training.of(x, y, noise)
    count, outputs = data.y.shape
    factors = factorise(model, data)
    log_determinant = np.sum(np.log(data.noise)) + 2.0 * np.sum(np.log(np.diag(factors.lower)))
    quadratic = np.sum(factors.residual**2) - np.sum(factors.projected**2)
    unexplained = np.sum(model.kernel.diag(data.x) / data.noise) - np.sum(factors.whitened**2)
    return float(-0.5 * (quadratic + outputs * (count * np.log(2.0 * np.pi) + log_determinant + unexplained)))


def inducing_posterior(
    model: SparseGP, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (m,) or (m, p) and covariance (m, m) of the optimal q(u); the outputs share the covariance."""
    data = Training.of(x, y, noise)
    factors = factorise(model, data)
    mean = model.mean + factors.root @ solve_lower_transposed(factors.lower, factors.projected)
    half = solve_lower(factors.lower, factors.root.T)
    return mean[:, 0] if data.flat else mean, half.T @ half


def predict(
    model: SparseGP,
    x: np.ndarray,
    y: np.ndarray,
    noise: float | np.ndarray,
    x_new: np.ndarray,
    full_cov: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (k,) or (k, p) of the latent function at x_new (k, d), and its variance (k,) or covariance (k, k).

    The spread is that of the prior, less what the inducing values explain, plus what is not known about them.
    """
    data = Training.of(x, y, noise)
    factors = factorise(model, data)
    x_new = np.asarray(x_new, dtype=np.float64)
    explained = solve_lower(factors.root, model.kernel(model.inducing, x_new))
    unknown = solve_lower(factors.lower, explained)
    mean = model.mean + unknown.T @ factors.projected
    if full_cov:
        spread = model.kernel(x_new, x_new) - explained.T @ explained + unknown.T @ unknown
    else:
        spread = model.kernel.diag(x_new) - np.sum(explained**2, axis=0) + np.sum(unknown**2, axis=0)
        spread = np.maximum(spread, 0.0)
    return mean[:, 0] if data.flat else mean, spread


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
