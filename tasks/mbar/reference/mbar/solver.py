"""The self-consistent equations: weights of the samples, and the free energies that solve them (Shirts & Chodera 2008)."""

from __future__ import annotations

import numpy as np

from .logspace import log, logsumexp
from .samples import SampleSet


def log_weights(samples: SampleSet, f: np.ndarray) -> np.ndarray:
    """Logarithms of the weights of all samples in all states, `(N, K)`.

    `f` `(K,)` are the states' reduced free energies; those of states without samples are needed for their own column
    only. A sample that a state forbids has the weight 0, so -inf.
    """
    exponents = np.asarray(f, dtype=np.float64)[:, None] - samples.energies
    mixture = logsumexp(log(samples.counts)[:, None] + exponents, axis=0)
    return (exponents - mixture).T


def free_energies(samples: SampleSet, tolerance: float = 1e-10, max_iterations: int = 1000) -> np.ndarray:
    """Reduced free energies of all states relative to the first one, `(K,)`.

    Solves the self-consistent equations until the weights of every sampled state sum to 1 within `tolerance`. Each
    iteration takes the self-consistent step and then Newton's, shortened where it is long. Raises RuntimeError if `max_iterations` are not enough.
    """
    # Neither a constant per sample nor one per state changes the problem, but large ones cost digits.
    energies = samples.energies - samples.energies.min(axis=0)
    offsets = energies.min(axis=1)
    shifted = SampleSet(energies - offsets[:, None], samples.counts)
    sampled = np.flatnonzero(samples.counts)
    counts = samples.counts[sampled]

    def sums(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logs = log_weights(shifted, f)
        return np.exp(logs[:, sampled]), logsumexp(logs, axis=0)

    def excess(log_sums: np.ndarray) -> float:
        return float(np.abs(np.expm1(log_sums[sampled])).max())

    f = np.zeros(len(energies))
    weights, log_sums = sums(f)
    for _ in range(max_iterations):
        if excess(log_sums) <= tolerance:
            f = f - log_sums + offsets
            return f - f[0]
        f = f - log_sums
        weights, log_sums = sums(f)
        total = weights.sum(axis=0)
        hessian = np.diag(counts * total) - counts[:, None] * (weights.T @ weights) * counts
        # The first sampled state stays where it is: the equations fix differences only.
        step = np.zeros(len(f))
        step[sampled[1:]] = np.linalg.lstsq(hessian[1:, 1:], (counts * (total - 1.0))[1:], rcond=None)[0]
        spread = np.ptp(step)
        if spread > 0.0:
            step *= np.log1p(spread) / spread  # of this size, it never increases the convex objective
        f = f - step
        weights, log_sums = sums(f)
    raise RuntimeError(f"the free energies did not converge within {max_iterations} iterations")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
