"""Free energy differences and averages of observables, with standard errors (Shirts & Chodera 2008)."""

from __future__ import annotations

import numpy as np

from .logspace import log, logsumexp
from .samples import SampleSet
from .solver import free_energies, log_weights


def covariance(weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Asymptotic covariance matrix of the logarithms of the normalisation constants, `(K, K)`.

    weights `(N, K)`, counts `(K,)`. Goes through the singular values of the weights, so that no matrix of N x N
    appears. Eigenvalues below 1e-8 of the largest count as 0: one always is, up to rounding.
    """
    weights = np.asarray(weights, dtype=np.float64)
    _, singular, right = np.linalg.svd(weights, full_matrices=False)
    factor = singular[:, None] * right
    inner = np.eye(len(singular)) - factor @ (np.asarray(counts)[:, None] * factor.T)
    values, vectors = np.linalg.eigh(inner)
    # The matrix of (8) is N x N: with more samples than states it has the eigenvalue 1 too, so its largest is never tiny.
    largest = max(float(np.abs(values).max()), float(len(weights) > len(singular)))
    kept = np.abs(values) > 1e-8 * largest
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return factor.T @ inverse @ factor


def differences(samples: SampleSet, f: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Differences of the free energies of all pairs of states, and their standard errors, each `(K, K)`.

    The entry (i, j) is about `f[j] - f[i]`. `f` is solved for where it is not given.
    """
    f = free_energies(samples) if f is None else np.asarray(f, dtype=np.float64)
    theta = covariance(np.exp(log_weights(samples, f)), samples.counts)
    spread = np.diag(theta)
    variance = spread[:, None] + spread[None, :] - theta - theta.T
    np.fill_diagonal(variance, 0.0)
    return f[None, :] - f[:, None], np.sqrt(np.maximum(variance, 0.0))


def expectation(
    samples: SampleSet, observable: np.ndarray, energies: np.ndarray, f: np.ndarray | None = None
) -> tuple[float, float]:
    """Mean of an observable in a state that need not be one of the sampled ones, and its standard error.

    observable `(N,)`, energies `(N,)` in the state of interest. Samples which that state forbids (+inf) do not count,
    whatever the observable is there. Raises ValueError for other shapes, or if the state forbids every sample.
    """
    observable = np.asarray(observable, dtype=np.float64)
    energies = np.asarray(energies, dtype=np.float64)
    size = samples.energies.shape[1]
    if observable.shape != (size,) or energies.shape != (size,):
        raise ValueError(f"observable {observable.shape} and energies {energies.shape} must be ({size},)")
    allowed = np.isfinite(energies)
    if not allowed.any():
        raise ValueError("the state forbids every sample")

    f = free_energies(samples) if f is None else np.asarray(f, dtype=np.float64)
    mixture = logsumexp(log(samples.counts)[:, None] + f[:, None] - samples.energies, axis=0)
    logs = -energies - mixture
    weights = np.exp(logs - logsumexp(logs, axis=0))
    observable = np.where(allowed, observable, 0.0)
    mean = weights @ observable
    # The observable enters the error as a further, unsampled state whose "weights" are those of its deviations.
    deviations = weights * (observable - mean)
    states = np.concatenate([np.exp(log_weights(samples, f)), deviations[:, None]], axis=1)
    variance = covariance(states, np.append(samples.counts, 0))[-1, -1]
    return float(mean), float(np.sqrt(max(variance, 0.0)))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
