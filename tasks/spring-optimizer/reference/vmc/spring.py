"""SPRING (Goldshlager, Abrahamsen and Lin, 2024)."""

from __future__ import annotations

import numpy as np

from .settings import Settings
from .state import State, Summary


def local_energies(
    gradients: np.ndarray, laplacians: np.ndarray, potentials: np.ndarray, masses: np.ndarray
) -> np.ndarray:
    """Equation (1) for `(N, n, d)` gradients and `(N, n)` Laplacians of log psi: `(N,)` float64 or complex128."""
    gradients, laplacians, potentials = (_double(each) for each in (gradients, laplacians, potentials))
    masses = np.asarray(masses)
    shape = gradients.shape
    if len(shape) != 3 or (laplacians.shape, potentials.shape, masses.shape) != (shape[:2], shape[:1], shape[1:2]):
        raise ValueError(f"{shape}, {laplacians.shape}, {potentials.shape} and {masses.shape} do not fit together")
    if not np.all(masses > 0.0):
        raise ValueError("masses must be positive")
    return potentials - np.sum((laplacians + np.sum(gradients**2, axis=2)) / (2.0 * masses), axis=1)


def clip_energies(energies: np.ndarray, width: float | None) -> np.ndarray:
    """Energies in the interval (2), real and imaginary parts separately; a new array."""
    energies = _double(energies)
    if width is None:
        return energies
    if not width > 0.0:
        raise ValueError(f"the width {width} is not positive")
    if np.iscomplexobj(energies):
        return clip_energies(energies.real, width) + 1j * clip_energies(energies.imag, width)
    middle = np.median(energies)
    reach = width * np.mean(np.abs(energies - middle))
    return np.clip(energies, middle - reach, middle + reach)


def direction(
    derivatives: np.ndarray, energies: np.ndarray, previous: np.ndarray, *, damping: float, momentum: float
) -> np.ndarray:
    """Equation (6), `(P,)` float64, by a system of the size of the walkers."""
    derivatives, energies = _double(derivatives), _double(energies)
    previous = np.asarray(previous, dtype=np.float64)
    shape = derivatives.shape
    if len(shape) != 2 or shape[0] == 0 or (energies.shape, previous.shape) != (shape[:1], shape[1:]):
        raise ValueError(f"{shape}, {energies.shape} and {previous.shape} are not (N, P), (N,) and (P,), N > 0")
    if not damping > 0.0 or not 0.0 <= momentum < 1.0:
        raise ValueError(f"the damping {damping} is not positive, or the momentum {momentum} not in [0, 1)")
    kind = np.result_type(derivatives, energies)
    matrix = _equations((derivatives - derivatives.mean(axis=0)).astype(kind) / np.sqrt(shape[0]))
    right = _equations((energies.mean() - energies).astype(kind) / np.sqrt(shape[0]))
    carried = momentum * previous
    kernel = matrix @ matrix.T + damping * np.eye(len(matrix))
    return carried + matrix.T @ np.linalg.solve(kernel, right - matrix @ carried)


def step(state: State, derivatives: np.ndarray, energies: np.ndarray, settings: Settings) -> tuple[State, Summary]:
    """Equation (7) from the walkers whose energy and derivatives are finite."""
    derivatives, energies = np.asarray(derivatives), np.asarray(energies)
    used = np.isfinite(energies) & np.isfinite(derivatives).all(axis=1)
    energies = _double(energies[used])
    phi = direction(
        derivatives[used],
        clip_energies(energies, settings.clip),
        state.previous,
        damping=settings.damping,
        momentum=settings.momentum,
    )
    length = settings.rate / (1.0 + settings.decay * state.iteration)
    norm = np.linalg.norm(phi)
    if settings.constraint is not None and length * norm > np.sqrt(settings.constraint):
        length = np.sqrt(settings.constraint) / norm
    energy = energies.mean()
    error = np.sqrt(np.mean(np.abs(energies - energy) ** 2) / len(energies))
    summary = Summary(energy=float(energy.real), error=float(error), walkers=len(energies))
    return State(state.parameters + length * phi, phi, state.iteration + 1), summary


def _double(values: np.ndarray) -> np.ndarray:
    """As float64, or as complex128 if complex."""
    values = np.asarray(values)
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)


def _equations(values: np.ndarray) -> np.ndarray:
    """Real parts, followed by imaginary parts if there are any."""
    return np.concatenate([values.real, values.imag]) if np.iscomplexobj(values) else values


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
