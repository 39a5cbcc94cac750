"""Free energy differences and averages of observables, with standard errors (Shirts & Chodera 2008)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .logspace import log, logsumexp
from .samples import SampleSet
from .solver import free_energies, log_weights


def covariance(weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Asymptotic covariance matrix of the logarithms of the normalisation constants, `(K, K)`."""
    raise NotImplementedError


def differences(samples: SampleSet, f: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Differences of the free energies of all pairs of states, and their standard errors, each `(K, K)`."""
    raise NotImplementedError


def expectation(
    samples: SampleSet, observable: np.ndarray, energies: np.ndarray, f: np.ndarray | None = None
) -> tuple[float, float]:
    """Mean of an observable in a state that need not be one of the sampled ones, and its standard error."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
