"""Free energy differences and averages of observables, with standard errors (Shirts & Chodera 2008)."""

from __future__ import annotations

import numpy as np

from .logspace import logsumexp
from .samples import SampleSet
from .solver import energy_levels, free_energies, log_mixture, log_weights

CUTOFF = 1e-8
"""Smaller eigenvalues, relative to the largest one, count as 0 in a pseudo-inverse."""


def covariance(weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Asymptotic covariance matrix of the logarithms of the normalisation constants, `(K, K)`."""
    root = _covariance_root(weights, counts)
    return root.T @ root


def differences(samples: SampleSet, f: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Differences of the free energies of all pairs of states, and their standard errors, each `(K, K)`."""
    f = free_energies(samples) if f is None else np.asarray(f, dtype=np.float64)
    root = _covariance_root(np.exp(log_weights(samples, f)), samples.counts)
    # (12) is the squared distance of two columns of the root, which rounding cannot make negative.
    error = np.array([np.linalg.norm(root - column[:, None], axis=0) for column in root.T])
    return f[None, :] - f[:, None], error


def expectation(
    samples: SampleSet, observable: np.ndarray, energies: np.ndarray, f: np.ndarray | None = None
) -> tuple[float, float]:
    """Mean of an observable in a state that need not be one of the sampled ones, and its standard error."""
    observable = np.asarray(observable, dtype=np.float64)
    energies = np.asarray(energies, dtype=np.float64)
    expected = samples.energies.shape[1:]
    if observable.shape != expected or energies.shape != expected:
        raise ValueError(f"observable {observable.shape} and energies {energies.shape} must both be {expected}")
    allowed = energies < np.inf
    if not allowed.any():
        raise ValueError("the state of interest forbids every sample")
    f = free_energies(samples) if f is None else np.asarray(f, dtype=np.float64)

    levels, shift = energy_levels(samples)
    exponents = (shift - energies) - log_mixture(samples, levels, f)
    weights = np.exp(exponents - logsumexp(exponents, axis=0))
    values = np.where(allowed, observable, 0.0)
    mean = weights @ values

    deviation = weights * (values - mean)
    scale = np.max(np.abs(deviation))
    if not scale > 0.0:
        return float(mean), 0.0
    columns = np.column_stack([np.exp(log_weights(samples, f)), deviation / scale])
    root = _covariance_root(columns, np.append(samples.counts, 0))
    return float(mean), float(scale * np.linalg.norm(root[:, -1]))


def _covariance_root(weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """A matrix G with `G.T @ G` = Theta of (8).

    Only the columns of sampled states are in the brackets of (8). With B = W diag(N)^1/2 for those, and the thin
    decomposition B = U S V^T, the brackets are 1 on everything orthogonal to U, and 1 - S^2 along U.
    """
    weights = np.asarray(weights, dtype=np.float64)
    counts = np.asarray(counts)
    sampled = counts > 0
    basis, singular, _ = np.linalg.svd(weights[:, sampled] * np.sqrt(counts[sampled]), full_matrices=False)
    eigenvalues = (1.0 - singular) * (1.0 + singular)
    rest = len(weights) > len(singular)
    largest = 1.0 if rest else np.max(eigenvalues, initial=0.0)
    noise = 8.0 * len(singular) * np.finfo(np.float64).eps
    kept = eigenvalues >= max(CUTOFF * largest, noise)

    along = basis.T @ weights
    parts = [along[kept] / np.sqrt(eigenvalues[kept])[:, None]]
    if rest:
        parts.append(weights - basis @ along)
    return np.concatenate(parts)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
