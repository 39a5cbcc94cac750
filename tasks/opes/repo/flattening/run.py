"""The driver: walkers of an overdamped Langevin dynamics on a given surface, with the bias."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .kernels import Estimate, Kernels
from .opes import bias, density, update
from .settings import Settings


def run(
    settings: Settings,
    start: np.ndarray,
    noise: np.ndarray,
    force: Callable[[np.ndarray], np.ndarray],
    step: float,
    stride: int,
) -> tuple[np.ndarray, Estimate]:
    """The path `(T + 1, d)` and the last estimate; `noise` `(T, d)` are normal numbers, one row for each step."""
    point = settings.cell.wrap(np.asarray(start, dtype=np.float64))
    estimate, path = Estimate(Kernels.none(len(point))), [point]
    for count, kick in enumerate(np.asarray(noise, dtype=np.float64)):
        values, forces = bias(estimate, settings, point[None])
        if count % stride == 0:
            estimate = update(estimate, settings, point, float(values[0]))
        drift = step * (force(point) + forces[0])
        point = settings.cell.wrap(point + drift + np.sqrt(2.0 * settings.kt * step) * kick)
        path.append(point)
    return np.array(path), estimate


def free_energy(estimate: Estimate, settings: Settings, points: np.ndarray) -> np.ndarray:
    """-kt log P at `(N, d)` points, shifted to a minimum of 0; infinite where P is 0."""
    with np.errstate(divide="ignore"):
        energy = -settings.kt * np.log(density(estimate, settings, points))
    return energy - energy.min(initial=np.inf)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
