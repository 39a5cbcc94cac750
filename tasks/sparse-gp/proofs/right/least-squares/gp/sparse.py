"""Sparse Gaussian process regression by variational inducing points.

In units of the noise, and with u = c + L v for white v, the optimal q(u) is that of the linear regression of
r = S^-1/2 (y - c) on A^T with the prior v ~ N(0, I): the ordinary least squares problem of the matrix [A^T; I] and the
right hand side [r; 0]. It is solved by a QR decomposition of that matrix, so that I + A A^T = R^T R is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gp.data import Training
from gp.linalg import solve_lower, solve_lower_transposed, stable_cholesky
from gp.model import SparseGP


@dataclass(frozen=True)
class _Regression:
    """The regression above, solved."""

    data: Training
    inducing: np.ndarray  # (m, d)
    prior: np.ndarray  # (m, m): L, the lower factor of Kuu
    design: np.ndarray  # (n, m): A^T
    targets: np.ndarray  # (n, p): r
    root: np.ndarray  # (m, m): R^T, a lower factor of I + A A^T, whose diagonal may have either sign
    weights: np.ndarray  # (m, p): the posterior mean of v

    @classmethod
    def of(cls, model: SparseGP, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray) -> _Regression:
        data = Training.of(x, y, noise)
        inducing = np.asarray(model.inducing, dtype=np.float64)
        deviations = np.sqrt(data.noise)[:, None]
        prior = stable_cholesky(model.kernel(inducing, inducing))
        design = solve_lower(prior, model.kernel(inducing, data.x)).T / deviations
        targets = (data.y - model.mean) / deviations
        basis, upper = np.linalg.qr(np.vstack([design, np.eye(len(inducing))]))
        weights = solve_lower_transposed(upper.T, basis[: len(design)].T @ targets)
        return cls(data, inducing, prior, design, targets, upper.T, weights)

    def shaped(self, columns: np.ndarray) -> np.ndarray:
        """One column per output, or a vector where the outputs were given as a vector."""
        return columns[:, 0] if self.data.flat else columns


def elbo(model: SparseGP, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray) -> float:
    """Return the collapsed lower bound of the log marginal likelihood."""
    fit = _Regression.of(model, x, y, noise)
    noise = fit.data.noise
    count, outputs = fit.targets.shape

    # r^T (I + A^T A)^-1 r is what the least squares problem leaves: a sum of squares, with nothing to cancel.
    misfit = np.sum((fit.targets - fit.design @ fit.weights) ** 2) + np.sum(fit.weights**2)
    log_determinant = np.sum(np.log(noise)) + 2.0 * np.sum(np.log(np.abs(np.diag(fit.root))))
    unexplained = np.sum(model.kernel.diag(fit.data.x) / noise - np.sum(fit.design**2, axis=1))
    shared = count * np.log(2.0 * np.pi) + log_determinant + unexplained
    return float(-0.5 * (misfit + outputs * shared))


def inducing_posterior(
    model: SparseGP, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the optimal q(u)."""
    fit = _Regression.of(model, x, y, noise)
    spread = solve_lower(fit.root, fit.prior.T)
    return fit.shaped(model.mean + fit.prior @ fit.weights), spread.T @ spread


def predict(
    model: SparseGP,
    x: np.ndarray,
    y: np.ndarray,
    noise: float | np.ndarray,
    x_new: np.ndarray,
    full_cov: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance (or covariance) of the latent function at new points."""
    fit = _Regression.of(model, x, y, noise)
    x_new = np.asarray(x_new, dtype=np.float64)
    known = solve_lower(fit.prior, model.kernel(fit.inducing, x_new))
    unsure = solve_lower(fit.root, known)
    mean = fit.shaped(model.mean + known.T @ fit.weights)
    if full_cov:
        return mean, model.kernel(x_new, x_new) - known.T @ known + unsure.T @ unsure
    removed = np.einsum("ik,ik->k", known, known) - np.einsum("ik,ik->k", unsure, unsure)
    return mean, np.maximum(model.kernel.diag(x_new) - removed, 0.0)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
