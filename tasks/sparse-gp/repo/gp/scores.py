"""How good predictions of observations are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scores:
    """Averages over all observations and outputs."""

    rmse: float  # root of the mean squared error
    log_density: float  # mean log predictive density of an observation


def score(y: np.ndarray, mean: np.ndarray, variance: np.ndarray, noise: float | np.ndarray) -> Scores:
    """Return the scores of predictions of y (k,) or (k, p).

    mean has the shape of y; variance (k,) is that of the latent function, which all outputs share. The noise variances,
    a number or (k,), are added to it here.
    """
    y, mean = np.asarray(y, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    if y.shape != mean.shape:
        raise ValueError(f"predictions of shape {mean.shape} for observations of shape {y.shape}")
    total = np.asarray(variance + noise, dtype=np.float64).reshape(-1, *[1] * (y.ndim - 1))
    squared = (y - mean) ** 2
    densities = -0.5 * (squared / total + np.log(2.0 * np.pi * total))
    return Scores(rmse=float(np.sqrt(np.mean(squared))), log_density=float(np.mean(densities)))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
