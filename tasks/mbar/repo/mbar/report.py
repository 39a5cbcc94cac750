"""The driver: a table of the states' free energies, and the mean of an observable in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .estimates import differences
from .overlap import connection, overlap_matrix
from .reweighting import averages
from .samples import SampleSet
from .solver import free_energies


@dataclass(frozen=True, eq=False)
class Report:
    """One entry per state: free energy relative to the first one, mean of the observable, and their errors.

    `overlap` is `(K, K)`, and `connection` one number for all states (see `overlap.py`): errors mean little where it is nearly 0.
    """

    free_energy: np.ndarray
    free_energy_error: np.ndarray
    mean: np.ndarray
    mean_error: np.ndarray
    overlap: np.ndarray
    connection: float


def analyse(samples: SampleSet, observable: np.ndarray) -> Report:
    """Everything about `samples` and the `(N,)` values of an observable; the equations are solved once."""
    f = free_energies(samples)
    delta, error = differences(samples, f)
    mean, mean_error = averages(samples, observable, samples.energies, f)
    return Report(
        free_energy=delta[0],
        free_energy_error=error[0],
        mean=mean,
        mean_error=mean_error,
        overlap=overlap_matrix(samples, f),
        connection=connection(samples, f),
    )


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
