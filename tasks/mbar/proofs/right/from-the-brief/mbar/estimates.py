"""Free energy differences and averages of observables, with standard errors (Shirts & Chodera 2008)."""

from __future__ import annotations

import numpy as np

from .samples import SampleSet
from .solver import free_energies, log_weights

CUTOFF = 1e-8  # eigenvalues below this part of the largest one count as 0
HIGHEST = 300.0  # of logarithms of weights: even sums of squares of such weights do not overflow


def covariance(weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Asymptotic covariance matrix of the logarithms of the normalisation constants, `(K, K)`."""
    weights = np.asarray(weights, dtype=np.float64)
    coordinates, scales = _coordinates(weights, weights, counts)
    return (coordinates.T * scales) @ coordinates


def differences(samples: SampleSet, f: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Differences of the free energies of all pairs of states, and their standard errors, each `(K, K)`."""
    f = free_energies(samples) if f is None else np.asarray(f, dtype=np.float64)
    weights = _weights(samples, f)
    coordinates, scales = _coordinates(weights, weights, samples.counts)
    # (12) as a sum of squares, which keeps the digits of differences of nearly equal states.
    variance = np.array([scales @ (coordinates - column[:, None]) ** 2 for column in coordinates.T])
    return f[None, :] - f[:, None], np.sqrt(np.maximum(variance, 0.0))


def expectation(
    samples: SampleSet, observable: np.ndarray, energies: np.ndarray, f: np.ndarray | None = None
) -> tuple[float, float]:
    """Mean of an observable in a state that need not be one of the sampled ones, and its standard error."""
    observable = np.asarray(observable, dtype=np.float64)
    energies = np.asarray(energies, dtype=np.float64)
    expected = samples.energies.shape[1:]
    if observable.shape != expected or energies.shape != expected:
        raise ValueError(f"observable {observable.shape} and energies {energies.shape} must have the shape {expected}")
    # The constructor checks the energies, also for a state that forbids every sample.
    enlarged = SampleSet(np.vstack([samples.energies, energies]), np.append(samples.counts, 0))
    f = free_energies(samples) if f is None else np.asarray(f, dtype=np.float64)

    logarithms = log_weights(enlarged, np.append(f, 0.0))[:, -1]
    shares = np.exp(logarithms - np.max(logarithms))
    shares /= np.sum(shares)
    values = np.where(np.isfinite(energies), observable, 0.0)
    scale = float(np.max(np.abs(values))) or 1.0  # squares of the observable may not be representable
    values = values / scale
    mean = float(shares @ values)
    column = (shares * (values - mean))[:, None]
    coordinates, scales = _coordinates(column, _weights(samples, f), samples.counts)
    variance = float(scales @ coordinates[:, 0] ** 2)
    return mean * scale, float(np.sqrt(max(variance, 0.0))) * scale


def _weights(samples: SampleSet, f: np.ndarray) -> np.ndarray:
    """The weights themselves. Those of states without samples are unbounded where `f` is no solution, and are scaled."""
    logarithms = log_weights(samples, f)
    return np.exp(logarithms - np.maximum(np.max(logarithms, axis=0) - HIGHEST, 0.0))


def _coordinates(columns: np.ndarray, weights: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors C `(R, M)` and s `(R,)` of `columns^T (I - W diag(counts) W^T)^+ columns = C^T diag(s) C`.

    columns: `(N, M)`. The bracket has the eigenvalues 1 less squared singular values of `W diag(counts)^(1/2)`, and 1
    for everything orthogonal to its columns, where the columns of states without samples may have a part.
    """
    counts = np.asarray(counts, dtype=np.float64)
    sampled = counts > 0.0
    basis, singular, _ = np.linalg.svd(weights[:, sampled] * np.sqrt(counts[sampled]), full_matrices=False)
    squares = singular**2
    eigenvalues = 1.0 - squares
    largest = np.max(np.abs(eigenvalues), initial=1.0 if len(weights) > len(squares) else 0.0)
    # If all eigenvalues are 0, so that the cutoff is none, they still carry the rounding of the difference.
    rounding = 16 * len(squares) * np.finfo(np.float64).eps * max(1.0, float(np.max(squares, initial=0.0)))
    regular = np.abs(eigenvalues) >= max(CUTOFF * largest, rounding)
    scales = np.zeros(len(squares))
    scales[regular] = 1.0 / eigenvalues[regular]

    inside = basis.T @ columns
    outside = np.linalg.qr(columns - basis @ inside, mode="r")
    return np.concatenate([inside, outside]), np.concatenate([scales, np.ones(len(outside))])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
