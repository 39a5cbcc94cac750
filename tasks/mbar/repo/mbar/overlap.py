"""How much the sampled states overlap: whether the free energies can be trusted at all."""

from __future__ import annotations

import numpy as np

from .samples import SampleSet
from .solver import log_weights


def overlap_matrix(samples: SampleSet, f: np.ndarray) -> np.ndarray:
    """`(K, K)`: the entry (i, j) is the probability that a sample of state i was drawn from state j.

    At the solution `f` of the equations, every row sums to 1. Columns of states without samples are 0.
    """
    weights = np.exp(log_weights(samples, f))
    return weights.T @ weights * samples.counts


def connection(samples: SampleSet, f: np.ndarray) -> float:
    """1 less the second largest eigenvalue of the overlap matrix of the sampled states.

    0 if they form groups that no sample connects, 1 if they are equal, or if only one state was sampled.
    """
    sampled = samples.counts > 0
    roots = np.sqrt(samples.counts[sampled])
    scaled = np.exp(log_weights(samples, f)[:, sampled]) * roots
    eigenvalues = np.linalg.eigvalsh(scaled.T @ scaled)
    return float(1.0 - eigenvalues[-2]) if len(eigenvalues) > 1 else 1.0


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
