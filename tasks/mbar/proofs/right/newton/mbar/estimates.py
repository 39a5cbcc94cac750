"""Errors and averages of MBAR, by the small matrix of (D6)."""

import numpy as np

from .logspace import log, logsumexp
from .solver import free_energies, log_weights


def covariance(weights, counts):
    w = np.asarray(weights, dtype=np.float64)
    n = np.asarray(counts, dtype=np.float64)
    _, s, vt = np.linalg.svd(np.linalg.qr(w, mode="r"), full_matrices=False)
    scaled = s[:, None] * vt
    inner = np.eye(len(s)) - scaled @ np.diag(n) @ scaled.T
    eigenvalues, basis = np.linalg.eigh(0.5 * (inner + inner.T))
    keep = np.abs(eigenvalues) >= 1e-8 * (1.0 if len(w) > len(s) else np.abs(eigenvalues).max())
    inverse = (basis[:, keep] / eigenvalues[keep]) @ basis[:, keep].T
    theta = scaled.T @ inverse @ scaled
    return 0.5 * (theta + theta.T)


def differences(samples, f=None):
    if f is None:
        f = free_energies(samples)
    f = np.asarray(f, dtype=np.float64)
    theta = covariance(np.exp(log_weights(samples, f)), samples.counts)
    diagonal = np.diag(theta)
    variance = diagonal[:, None] - 2.0 * theta + diagonal[None, :]
    error = np.sqrt(np.maximum(variance, 0.0))
    np.fill_diagonal(error, 0.0)
    delta = f[None, :] - f[:, None]
    np.fill_diagonal(delta, 0.0)
    return delta, error


def expectation(samples, observable, energies, f=None):
    a = np.array(observable, dtype=np.float64)
    u = np.array(energies, dtype=np.float64)
    count = samples.energies.shape[1]
    if a.shape != (count,) or u.shape != (count,):
        raise ValueError(f"observable and energies must have the shape {(count,)}")
    allowed = np.isfinite(u)
    if not allowed.any():
        raise ValueError("the state of interest forbids every sample")
    if f is None:
        f = free_energies(samples)
    f = np.asarray(f, dtype=np.float64)
    sampled = samples.counts > 0
    mixture = logsumexp(
        (f[sampled] + log(samples.counts[sampled].astype(float)))[:, None] - samples.energies[sampled], axis=0
    )
    log_w = np.where(allowed, -u - mixture, -np.inf)
    w = np.exp(log_w - logsumexp(log_w, axis=0))
    a = np.where(allowed, a, 0.0)
    mean = float(np.sum(w * a))
    d = w * (a - mean)
    scale = np.abs(d).max()
    if scale == 0.0:
        return mean, 0.0
    # appended column, scaled to the size of the others
    columns = np.concatenate([np.exp(log_weights(samples, f)), (d / scale)[:, None]], axis=1)
    theta = covariance(columns, np.append(samples.counts, 0))
    return mean, float(scale * np.sqrt(max(theta[-1, -1], 0.0)))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
