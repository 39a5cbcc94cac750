"""Titsias' approximation through Sigma itself and general solvers, in place of the factor A."""

import numpy as np
from gp.data import Training
from gp.linalg import solve_lower, stable_cholesky
from scipy.linalg import cho_factor, cho_solve


class _Fit:
    def __init__(self, model, x, y, noise):
        self.data = Training.of(x, y, noise)
        self.z = np.asarray(model.inducing, dtype=np.float64)
        self.factor = stable_cholesky(model.kernel(self.z, self.z))
        cross = solve_lower(self.factor, model.kernel(self.z, self.data.x))  # (m, n)
        self.explained = np.einsum("ij,ij->j", cross, cross)
        scaled = cross / self.data.noise
        self.inner = np.eye(len(self.z)) + scaled @ cross.T
        self.solver = cho_factor(self.inner, lower=True)
        self.residual = self.data.y - model.mean
        self.weights = cho_solve(self.solver, scaled @ self.residual)  # (m, p), whitened

    def shaped(self, mean):
        return mean[:, 0] if self.data.flat else mean


def elbo(model, x, y, noise):
    fit = _Fit(model, x, y, noise)
    data = fit.data
    count, outputs = data.y.shape
    determinant = 2.0 * np.log(np.diag(fit.solver[0])).sum() + np.log(data.noise).sum()
    weighted = fit.residual / data.noise[:, None]
    # Woodbury: r' (Q + S)^-1 r = r' S^-1 r - w' (I + A A')^-1 w
    square = np.sum(weighted * fit.residual) - np.sum(fit.weights * (fit.inner @ fit.weights))
    gaussian = -0.5 * (square + outputs * (determinant + count * np.log(2.0 * np.pi)))
    trace = np.sum((model.kernel.diag(data.x) - fit.explained) / data.noise)
    return float(gaussian - 0.5 * outputs * trace)


def inducing_posterior(model, x, y, noise):
    fit = _Fit(model, x, y, noise)
    mean = model.mean + fit.factor @ fit.weights
    cov = fit.factor @ cho_solve(fit.solver, fit.factor.T)
    return fit.shaped(mean), 0.5 * (cov + cov.T)


def predict(model, x, y, noise, x_new, full_cov=False):
    fit = _Fit(model, x, y, noise)
    new = np.asarray(x_new, dtype=np.float64)
    cross = solve_lower(fit.factor, model.kernel(fit.z, new))  # (m, k)
    mean = fit.shaped(model.mean + cross.T @ fit.weights)
    spread = cho_solve(fit.solver, cross) - cross
    if full_cov:
        return mean, model.kernel(new, new) + cross.T @ spread
    return mean, np.maximum(model.kernel.diag(new) + np.sum(cross * spread, axis=0), 0.0)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
