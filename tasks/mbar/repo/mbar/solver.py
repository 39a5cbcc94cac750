"""The self-consistent equations: weights of the samples, and the free energies that solve them (Shirts & Chodera 2008)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .logspace import log, logsumexp
from .samples import SampleSet


def log_weights(samples: SampleSet, f: np.ndarray) -> np.ndarray:
    """Logarithms of the weights of all samples in all states, `(N, K)`."""
    raise NotImplementedError


def free_energies(samples: SampleSet, tolerance: float = 1e-10, max_iterations: int = 1000) -> np.ndarray:
    """Reduced free energies of all states relative to the first one, `(K,)`."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
