"""SPRING with loops over walkers, and a Cholesky factor of the kernel with 1/N added."""

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .settings import Settings
from .state import State, Summary


def local_energies(gradients, laplacians, potentials, masses):
    gradients, laplacians, potentials, masses = map(np.asarray, (gradients, laplacians, potentials, masses))
    if gradients.ndim != 3 or laplacians.ndim != 2 or potentials.ndim != 1 or masses.ndim != 1:
        raise ValueError("wrong number of axes")
    walkers, particles = gradients.shape[:2]
    if laplacians.shape != (walkers, particles) or len(potentials) != walkers or len(masses) != particles:
        raise ValueError("wrong number of walkers or particles")
    if not all(mass > 0 for mass in masses.tolist()):
        raise ValueError("wrong masses")
    complex_ = any(np.iscomplexobj(each) for each in (gradients, laplacians, potentials))
    result = np.zeros(walkers, dtype=np.complex128 if complex_ else np.float64)
    for walker in range(walkers):
        total = potentials[walker].item()
        for mass, slopes, curvature in zip(
            masses.tolist(), gradients[walker].tolist(), laplacians[walker].tolist(), strict=True
        ):
            total -= (curvature + sum(slope**2 for slope in slopes)) / mass / 2
        result[walker] = total
    return result


def _clip_real(values, width):
    middle = float(np.median(values))
    reach = width * math.fsum(abs(value - middle) for value in values) / len(values)
    return [min(max(value, middle - reach), middle + reach) for value in values]


def clip_energies(energies, width):
    if width is not None and not width > 0:
        raise ValueError(f"width {width}")
    values = np.asarray(energies).tolist()
    if np.iscomplexobj(energies):
        parts = [value.real for value in values], [value.imag for value in values]
        real, imaginary = parts if width is None else (_clip_real(part, width) for part in parts)
        return np.array([complex(*both) for both in zip(real, imaginary, strict=True)], dtype=np.complex128)
    values = [float(value) for value in values]
    return np.array(values if width is None else _clip_real(values, width), dtype=np.float64)


def direction(derivatives, energies, previous, *, damping, momentum):
    derivatives, energies, previous = np.asarray(derivatives), np.asarray(energies), np.asarray(previous)
    if derivatives.ndim != 2 or energies.ndim != 1 or previous.ndim != 1:
        raise ValueError("wrong number of axes")
    if len(derivatives) != len(energies) or derivatives.shape[1] != len(previous) or not len(energies):
        raise ValueError("wrong number of walkers or parameters")
    if not damping > 0 or not 0 <= momentum < 1:
        raise ValueError("wrong damping or momentum")
    count = len(energies)
    phi = momentum * previous.astype(np.float64)
    rows, targets, ones = [], [], []
    for part in ("real", "imag"):
        o = np.array(getattr(derivatives, part), dtype=np.float64)
        e = np.array(getattr(energies, part), dtype=np.float64)
        rows.append((o - o.sum(axis=0) / count) / math.sqrt(count))
        targets.append((e.sum() / count - e) / math.sqrt(count))
        if not np.iscomplexobj(derivatives):
            break  # without imaginary derivatives, nothing changes imaginary energies
    matrix, target = np.concatenate(rows), np.concatenate(targets)
    ones = np.kron(np.eye(len(rows)), np.full((count, count), 1.0 / count))
    factor = cho_factor(matrix @ matrix.T + damping * np.eye(len(matrix)) + ones)
    return phi + matrix.T @ cho_solve(factor, target - matrix @ phi)


def step(state: State, derivatives, energies, settings: Settings):
    derivatives, energies = np.asarray(derivatives), np.asarray(energies)
    bad = ~np.isfinite(energies) | ~np.isfinite(derivatives).all(axis=1)
    derivatives, energies = derivatives[~bad], energies[~bad]
    if energies.size == 0:
        raise ValueError("all walkers are lost")
    energies = energies.astype(np.complex128 if np.iscomplexobj(energies) else np.float64)
    phi = direction(
        derivatives,
        clip_energies(energies, settings.clip),
        state.previous,
        damping=settings.damping,
        momentum=settings.momentum,
    )
    rate = settings.rate / (1.0 + state.iteration * settings.decay)
    length = math.sqrt(math.fsum((phi * phi).tolist()))
    if settings.constraint is not None and length > 0.0:
        rate = min(rate, math.sqrt(settings.constraint) / length)
    mean = energies.mean()
    variance = np.mean(np.abs(energies - mean) ** 2)
    return (
        State(state.parameters + rate * phi, phi, state.iteration + 1),
        Summary(float(mean.real), math.sqrt(variance / energies.size), int(energies.size)),
    )
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
