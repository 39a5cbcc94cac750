"""The way from the simulations of a campaign, one per state, to the report on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .report import Report, analyse
from .samples import SampleSet
from .timeseries import independent


def pool(trajectories: Sequence[np.ndarray], observables: Sequence[np.ndarray]) -> tuple[SampleSet, np.ndarray]:
    """The independent samples of all simulations, and the observable `(N,)` at each of them.

    trajectories: one array `(K, n_k)` per state k, the reduced potentials in all K states of the samples drawn from
    k in the order of time; n_k may be 0. observables: one array `(n_k,)` per state.
    """
    kept = [independent(energies[state]) for state, energies in enumerate(trajectories)]
    energies = np.concatenate([part[:, rows] for part, rows in zip(trajectories, kept, strict=True)], axis=1)
    observable = np.concatenate([part[rows] for part, rows in zip(observables, kept, strict=True)])
    return SampleSet(energies, np.array([len(rows) for rows in kept])), observable


def evaluate(trajectories: Sequence[np.ndarray], observables: Sequence[np.ndarray]) -> Report:
    """The report on the independent samples of `trajectories`; arguments as those of `pool`."""
    return analyse(*pool(trajectories, observables))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
