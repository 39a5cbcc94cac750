"""Sparse Gaussian process regression by variational inducing points (Titsias, 2009)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gp.data import Training
from gp.linalg import solve_lower, solve_lower_transposed, stable_cholesky
from gp.model import SparseGP


def _factor(covariance: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor of Kuu; zeros where there is no variance at all to factor."""
    return stable_cholesky(covariance) if np.diag(covariance).any() else np.zeros_like(covariance)


def _whiten(factor: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Return L^-1 cross. Inducing points without any variance (or none at all) explain nothing."""
    return solve_lower(factor, cross) if cross.size and factor.any() else np.zeros_like(cross)


def _explained(whitened: np.ndarray) -> np.ndarray:
    """Return the diagonal of whitened^T whitened."""
    return np.einsum("mn,mn->n", whitened, whitened)


@dataclass(frozen=True)
class _Fit:
    """The optimal q(u) in whitened coordinates, u = mean + L v: v has the mean `weights` and the precision I + A A^T."""

    data: Training
    inducing: np.ndarray  # (m, d)
    factor: np.ndarray  # (m, m): L, with Kuu = L L^T
    whitened: np.ndarray  # (m, n): L^-1 Kuf
    precision_factor: np.ndarray  # (m, m): lower factor of I + A A^T
    residual: np.ndarray  # (n, p): S^-1/2 (y - mean)
    weights: np.ndarray  # (m, p)

    @classmethod
    def of(cls, model: SparseGP, x, y, noise) -> _Fit:
        data = Training.of(x, y, noise)
        inducing = np.array(model.inducing, dtype=np.float64)
        deviation = np.sqrt(data.noise)
        factor = _factor(model.kernel(inducing, inducing))
        whitened = _whiten(factor, model.kernel(inducing, data.x))
        scaled = whitened / deviation
        residual = (data.y - model.mean) / deviation[:, None]
        precision_factor = np.linalg.cholesky(np.eye(len(inducing)) + scaled @ scaled.T)
        weights = scaled @ residual
        if len(inducing):
            weights = solve_lower_transposed(precision_factor, solve_lower(precision_factor, weights))
        return cls(data, inducing, factor, whitened, precision_factor, residual, weights)

    def shaped(self, mean: np.ndarray) -> np.ndarray:
        """Return a mean (., p) as a vector if the outputs were one."""
        return mean[:, 0] if self.data.flat else mean

    def spread(self, whitened: np.ndarray) -> np.ndarray:
        """Return a matrix R such that R^T R = whitened^T (I + A A^T)^-1 whitened."""
        return solve_lower(self.precision_factor, whitened) if whitened.size else whitened


def elbo(model: SparseGP, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray) -> float:
    """Return the collapsed lower bound (3) of the log marginal likelihood, summed over the outputs."""
    fit = _Fit.of(model, x, y, noise)
    variances = fit.data.noise
    count, outputs = fit.data.y.shape
    # Woodbury's quadratic form as the minimum of |r - A^T v|^2 + |v|^2: with little noise, r^T r - ... would cancel.
    misfit = fit.residual - (fit.whitened / np.sqrt(variances)).T @ fit.weights
    quadratic = np.sum(misfit**2) + np.sum(fit.weights**2)
    log_determinant = 2.0 * np.sum(np.log(np.diag(fit.precision_factor))) + np.sum(np.log(variances))
    unexplained = np.maximum(model.kernel.diag(fit.data.x) - _explained(fit.whitened), 0.0)
    per_output = log_determinant + count * np.log(2.0 * np.pi) + np.sum(unexplained / variances)
    return float(-0.5 * (quadratic + outputs * per_output))


def inducing_posterior(
    model: SparseGP, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (5), of shape (m,) or (m, p) as y is a vector or a matrix, and covariance (6) of the optimal q(u)."""
    fit = _Fit.of(model, x, y, noise)
    root = fit.spread(fit.factor.T)
    return fit.shaped(model.mean + fit.factor @ fit.weights), root.T @ root


def predict(
    model: SparseGP,
    x: np.ndarray,
    y: np.ndarray,
    noise: float | np.ndarray,
    x_new: np.ndarray,
    full_cov: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (7) and variances, or with `full_cov` the covariance (8), of the latent function at x_new (k, d)."""
    fit = _Fit.of(model, x, y, noise)
    x_new = np.array(x_new, dtype=np.float64)
    whitened = _whiten(fit.factor, model.kernel(fit.inducing, x_new))
    root = fit.spread(whitened)
    mean = fit.shaped(model.mean + whitened.T @ fit.weights)
    if full_cov:
        return mean, model.kernel(x_new, x_new) - whitened.T @ whitened + root.T @ root
    return mean, np.maximum(model.kernel.diag(x_new) - _explained(whitened) + _explained(root), 0.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
