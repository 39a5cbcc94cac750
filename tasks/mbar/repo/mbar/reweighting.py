"""Averages of one observable in many states, which need not be among the sampled ones."""

from __future__ import annotations

import numpy as np

from .estimates import expectation
from .samples import SampleSet


def averages(
    samples: SampleSet, observable: np.ndarray, energies: np.ndarray, f: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard errors, each `(M,)`, in M states of interest.

    observable: `(N,)`. energies: `(M, N)` reduced potentials of the samples in the states of interest.
    f: `(K,)` free energies of the states of `samples`, which are not solved for again.
    """
    pairs = [expectation(samples, observable, state, f) for state in energies]
    return np.array([mean for mean, _ in pairs]), np.array([error for _, error in pairs])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
