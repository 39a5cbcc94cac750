"""The driver: a table of the states' free energies, and the mean of an observable in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .estimator import differences, expectation, free_energies
from .samples import SampleSet


@dataclass(frozen=True, eq=False)
class Report:
    """One entry per state: free energy relative to the first one, mean of the observable, and their errors."""

    free_energy: np.ndarray
    free_energy_error: np.ndarray
    mean: np.ndarray
    mean_error: np.ndarray


def analyse(samples: SampleSet, observable: np.ndarray) -> Report:
    """Everything about `samples` and the `(N,)` values of an observable; the equations are solved once."""
    f = free_energies(samples)
    delta, error = differences(samples, f)
    means = [expectation(samples, observable, energies, f) for energies in samples.energies]
    return Report(
        free_energy=delta[0],
        free_energy_error=error[0],
        mean=np.array([mean for mean, _ in means]),
        mean_error=np.array([sigma for _, sigma in means]),
    )


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
