"""SPRING by a singular value decomposition of the walkers."""

import numpy as np

from .state import State, Summary


def _numbers(values):
    array = np.asarray(values)
    return np.array(array, dtype=complex if array.dtype.kind == "c" else float)


def local_energies(gradients, laplacians, potentials, masses):
    g, lap, v, m = _numbers(gradients), _numbers(laplacians), _numbers(potentials), np.array(masses, dtype=float)
    if g.ndim != 3:
        raise ValueError("gradients are (N, n, d)")
    count, particles, _ = g.shape
    if lap.shape != (count, particles) or v.shape != (count,) or m.shape != (particles,):
        raise ValueError("shapes do not fit the gradients")
    if (m <= 0).any() or np.isnan(m).any():
        raise ValueError("a mass is not positive")
    return v - (lap + np.einsum("iad,iad->ia", g, g)) @ (0.5 / m)


def clip_energies(energies, width):
    values = _numbers(energies)
    if width is None:
        return values
    if width <= 0:
        raise ValueError("a width is positive")
    for part in (values.real, values.imag) if np.iscomplexobj(values) else (values,):
        middle = np.median(part)
        reach = width * np.abs(part - middle).mean()
        part[:] = np.maximum(np.minimum(part, middle + reach), middle - reach)
    return values


def direction(derivatives, energies, previous, *, damping, momentum):
    o, e, start = _numbers(derivatives), _numbers(energies), np.array(previous, dtype=float)
    if o.ndim != 2 or len(o) < 1 or e.shape != o.shape[:1] or start.shape != o.shape[1:]:
        raise ValueError("derivatives are (N, P), energies (N,), previous (P,)")
    if damping <= 0 or momentum < 0 or momentum >= 1:
        raise ValueError("damping or momentum out of range")
    scale = len(o) ** -0.5
    o = scale * (o - np.mean(o, axis=0, keepdims=True))
    e = -scale * (e - np.mean(e))
    rows = np.vstack([np.real(o), np.imag(o)])
    wanted = np.hstack([np.real(e), np.imag(e)])
    left, values, right = np.linalg.svd(rows, full_matrices=False)
    start = momentum * start
    gap = left.T @ wanted - values * (right @ start)
    return start + (values / (values**2 + damping) * gap) @ right


def step(state, derivatives, energies, settings):
    o, e = _numbers(derivatives), _numbers(energies)
    good = [i for i in range(len(e)) if np.isfinite(e[i]) and np.isfinite(o[i]).all()]
    if not good:
        raise ValueError("no walker is finite")
    o, e = o[good], e[good]
    phi = direction(
        o, clip_energies(e, settings.clip), state.previous, damping=settings.damping, momentum=settings.momentum
    )
    factor = settings.rate / (1 + state.iteration * settings.decay)
    squared = float(phi @ phi)
    if settings.constraint is not None and factor**2 * squared > settings.constraint:
        factor = (settings.constraint / squared) ** 0.5
    deviation = e - e.mean()
    error = np.sqrt((deviation.real**2 + deviation.imag**2).mean() / len(e))
    after = State(parameters=state.parameters + factor * phi, previous=phi, iteration=state.iteration + 1)
    return after, Summary(energy=float(np.real(e.mean())), error=float(error), walkers=len(e))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
