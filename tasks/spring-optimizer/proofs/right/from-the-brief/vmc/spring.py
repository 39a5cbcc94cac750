"""SPRING (Goldshlager, Abrahamsen and Lin, 2024)."""

from __future__ import annotations

import math

import numpy as np

from .settings import Settings
from .state import State, Summary


def _numbers(values: np.ndarray) -> np.ndarray:
    """A new float64 or complex128 array."""
    values = np.asarray(values)
    return np.array(values, dtype=np.complex128 if np.iscomplexobj(values) else np.float64)


def local_energies(
    gradients: np.ndarray, laplacians: np.ndarray, potentials: np.ndarray, masses: np.ndarray
) -> np.ndarray:
    """Local energies of walkers."""
    gradients, laplacians, potentials = map(_numbers, (gradients, laplacians, potentials))
    masses = np.asarray(masses, dtype=np.float64)
    if gradients.ndim != 3:
        raise ValueError(f"gradients must be (N, n, d), not {gradients.shape}")
    walkers, particles, _ = gradients.shape
    if laplacians.shape != (walkers, particles) or potentials.shape != (walkers,) or masses.shape != (particles,):
        raise ValueError(
            f"laplacians {laplacians.shape}, potentials {potentials.shape} or masses {masses.shape} "
            f"do not fit to gradients {gradients.shape}"
        )
    if not np.all(masses > 0.0):
        raise ValueError("masses must be positive")
    return potentials - np.sum((laplacians + np.sum(gradients * gradients, axis=2)) / (2.0 * masses), axis=1)


def _clipped(energies: np.ndarray, width: float) -> np.ndarray:
    """Real energies, moved into the interval (2)."""
    middle = np.median(energies)
    spread = np.mean(np.abs(energies - middle))
    reach = width * spread if spread > 0.0 else 0.0
    return np.clip(energies, middle - reach, middle + reach)


def clip_energies(energies: np.ndarray, width: float | None) -> np.ndarray:
    """Local energies without outliers."""
    energies = _numbers(energies)
    if width is None:
        return energies
    if not width > 0.0:
        raise ValueError(f"the width must be positive, not {width}")
    if np.iscomplexobj(energies):
        parts = np.empty_like(energies)
        parts.real, parts.imag = _clipped(energies.real, width), _clipped(energies.imag, width)
        return parts
    return _clipped(energies, width)


def direction(
    derivatives: np.ndarray, energies: np.ndarray, previous: np.ndarray, *, damping: float, momentum: float
) -> np.ndarray:
    """The direction phi_k of SPRING."""
    derivatives, energies = _numbers(derivatives), _numbers(energies)
    previous = np.asarray(previous, dtype=np.float64)
    if derivatives.ndim != 2 or len(derivatives) == 0:
        raise ValueError(f"derivatives must be (N, P) with N > 0, not {derivatives.shape}")
    count, size = derivatives.shape
    if energies.shape != (count,) or previous.shape != (size,):
        raise ValueError(f"energies {energies.shape} or previous {previous.shape} do not fit to {derivatives.shape}")
    if not damping > 0.0:
        raise ValueError(f"the damping must be positive, not {damping}")
    if not 0.0 <= momentum < 1.0:
        raise ValueError(f"the momentum must be in [0, 1), not {momentum}")

    matrix = (derivatives - derivatives.mean(axis=0)) / math.sqrt(count)
    target = -(energies - energies.mean()) / math.sqrt(count)
    if np.iscomplexobj(matrix) or np.iscomplexobj(target):
        # twice as many real equations
        matrix = np.concatenate([matrix.real, matrix.imag])
        target = np.concatenate([target.real, target.imag])
    start = momentum * previous
    if not matrix.size:
        return start
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    gains = values / (values**2 + damping)
    return start + (gains * (left.T @ (target - matrix @ start))) @ right


def step(state: State, derivatives: np.ndarray, energies: np.ndarray, settings: Settings) -> tuple[State, Summary]:
    """One iteration: the next state, and statistics of the walkers."""
    derivatives, energies = _numbers(derivatives), _numbers(energies)
    parameters = np.asarray(state.parameters, dtype=np.float64)
    if energies.ndim != 1 or derivatives.shape != (len(energies), len(parameters)):
        raise ValueError(f"derivatives {derivatives.shape} do not fit to energies {energies.shape}")
    used = np.isfinite(energies) & np.isfinite(derivatives).all(axis=1)
    if not used.any():
        raise ValueError("no walker has a finite energy and finite derivatives")
    derivatives, energies = derivatives[used], energies[used]

    phi = direction(
        derivatives,
        clip_energies(energies, settings.clip),
        state.previous,
        damping=settings.damping,
        momentum=settings.momentum,
    )
    rate = settings.rate / (1.0 + state.iteration * settings.decay)
    length = float(np.linalg.norm(phi))
    if settings.constraint is not None and length > 0.0:
        rate = min(rate, math.sqrt(settings.constraint) / length)

    mean = energies.mean()
    variance = float(np.mean(np.abs(energies - mean) ** 2))
    summary = Summary(float(mean.real), math.sqrt(variance / len(energies)), len(energies))
    return State(parameters + rate * phi, phi, state.iteration + 1), summary


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
