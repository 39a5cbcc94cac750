"""MBAR by damped Newton steps on the convex objective, over the sampled states."""

import numpy as np

from .logspace import log, logsumexp


def log_weights(samples, f):
    u = samples.energies
    f = np.asarray(f, dtype=np.float64)
    sampled = samples.counts > 0
    mixture = logsumexp((f[sampled] + log(samples.counts[sampled].astype(float)))[:, None] - u[sampled], axis=0)
    return (f[:, None] - u - mixture).T


def _update(samples, f):
    """The right hand side of (11), for all states."""
    sampled = samples.counts > 0
    u = samples.energies
    mixture = logsumexp((f[sampled] + log(samples.counts[sampled].astype(float)))[:, None] - u[sampled], axis=0)
    return -logsumexp(-u - mixture, axis=1)


def _gap(samples, f):
    sampled = samples.counts > 0
    with np.errstate(over="ignore"):
        sums = np.exp(logsumexp(log_weights(samples, f)[:, sampled], axis=0))
    return sums - 1.0


def _newton(samples, f):
    sampled = np.flatnonzero(samples.counts > 0)
    n = samples.counts[sampled].astype(float)
    with np.errstate(over="ignore"):
        w = np.exp(log_weights(samples, f)[:, sampled])
    sums = w.sum(axis=0)
    hessian = np.diag(n * sums) - (w * n).T @ (w * n)
    gradient = n * (sums - 1.0)
    if not (np.isfinite(hessian).all() and np.isfinite(gradient).all()):
        return None
    step = np.zeros(len(sampled))
    if len(sampled) > 1:
        step[1:] = np.linalg.lstsq(hessian[1:, 1:], gradient[1:], rcond=1e-14)[0]
    moved = f.copy()
    moved[sampled] -= step
    return moved


def _badness(samples, f):
    sampled = samples.counts > 0
    worst = np.abs(samples.counts[sampled] * _gap(samples, f))
    return worst.max() if np.isfinite(worst).all() else np.inf


def free_energies(samples, tolerance=1e-10, max_iterations=1000):
    sampled = samples.counts > 0
    # a start that no offset between the states can spoil
    f = np.min(samples.energies, axis=1)
    f = np.where(np.isfinite(f), f, 0.0)
    for _ in range(max_iterations):
        plain = _update(samples, f)
        newton = _newton(samples, plain)
        best = plain
        usable = newton is not None and np.isfinite(newton).all()
        if usable and _badness(samples, newton) < _badness(samples, plain):
            best = newton
        f = best
        if np.abs(_gap(samples, f)).max() <= tolerance:
            full = _update(samples, f)
            full[sampled] = f[sampled]
            return full - full[0]
    raise RuntimeError(f"no solution within {max_iterations} iterations")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
