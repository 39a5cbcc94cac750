"""The data: samples of all states in one pool, and their energies in every state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class SampleSet:
    """N samples, drawn from some of K states.

    energies: `(K, N)` float64, the reduced potential (energy over kT) of every sample in every state. +inf marks a
        sample that a state forbids; each state allows at least one sample.
    counts: `(K,)` int64, how many of the samples were drawn from each state; 0 for a state that was not simulated.
        Which sample came from which state is not needed.
    """

    energies: np.ndarray
    counts: np.ndarray

    def __post_init__(self) -> None:
        energies = np.asarray(self.energies, dtype=np.float64)
        counts = np.asarray(self.counts, dtype=np.int64)
        if energies.ndim != 2 or counts.shape != (len(energies),):
            raise ValueError(f"energies {energies.shape} and counts {counts.shape} must be (K, N) and (K,)")
        if counts.min() < 0 or counts.sum() != energies.shape[1]:
            raise ValueError(f"the counts must not be negative and sum to {energies.shape[1]}")
        if np.isnan(energies).any() or np.isneginf(energies).any():
            raise ValueError("an energy is NaN or -inf")
        if np.isinf(energies).all(axis=1).any():
            raise ValueError("a state forbids every sample")
        object.__setattr__(self, "energies", energies)
        object.__setattr__(self, "counts", counts)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
