"""Latent Ewald summation over the whole sphere, term by term, with cosines and sines."""

import math

import numpy as np

from .kspace import k_indices
from .units import EPSILON_0


def _sphere(system, settings):
    half = k_indices(system.cell, settings.cutoff)
    dual = 2.0 * math.pi * np.linalg.inv(system.cell).T
    return np.concatenate([half, -half]) @ dual


def _terms(system, settings):
    """Yield k, the factor of |S|^2 and the angles of all atoms."""
    volume = float(np.prod(np.linalg.svd(system.cell, compute_uv=False)))
    for k in _sphere(system, settings):
        square = float(k @ k)
        yield k, math.exp(-0.5 * square * settings.sigma**2) / (2.0 * EPSILON_0 * volume * square), system.positions @ k


def _self(settings):
    return 1.0 / (2.0 * EPSILON_0 * settings.sigma * (2.0 * math.pi) ** 1.5)


def _kernel(r, sigma):
    """Kernel, and minus its derivative over r, of one pair."""
    x = r / (math.sqrt(2.0) * sigma)
    if x < 0.05:
        y = x * x
        value = 2.0 / math.sqrt(math.pi) * (1.0 - y / 3.0 + y**2 / 10.0 - y**3 / 42.0)
        slope = 4.0 / math.sqrt(math.pi) * (1.0 / 3.0 - y / 5.0 + y**2 / 14.0 - y**3 / 54.0)
        return value / (math.sqrt(2.0) * sigma), slope / (math.sqrt(2.0) * sigma) ** 3
    bracket = math.erf(x) - 2.0 * x * math.exp(-x * x) / math.sqrt(math.pi)
    return math.erf(x) / r, bracket / r**3


def _pairs(system):
    for i in range(len(system.positions)):
        for j in range(len(system.positions)):
            if i != j:
                yield i, j, system.positions[i] - system.positions[j]


def energy(system, settings):
    """Sum of terms."""
    q = system.charges
    total = 0.0
    if system.cell is None:
        for i, j, apart in _pairs(system):
            total += float(q[i] @ q[j]) * _kernel(math.hypot(*apart), settings.sigma)[0] / (8.0 * math.pi * EPSILON_0)
        return total + settings.self_interaction * _self(settings) * float((q**2).sum())
    for _, factor, angles in _terms(system, settings):
        total += factor * float(((np.cos(angles) @ q) ** 2 + (np.sin(angles) @ q) ** 2).sum())
    return total - (not settings.self_interaction) * _self(settings) * float((q**2).sum())


def forces(system, settings, jacobian=None):
    """Gradient at fixed charges, and the chain rule, one atom at a time."""
    q = system.charges
    size, channels = q.shape
    found, slope = np.zeros((size, 3)), np.zeros((size, channels))
    if system.cell is None:
        for i, j, apart in _pairs(system):
            value, pull = _kernel(math.hypot(*apart), settings.sigma)
            found[i] += float(q[i] @ q[j]) * pull * apart / (4.0 * math.pi * EPSILON_0)
            slope[i] += q[j] * value / (4.0 * math.pi * EPSILON_0)
        if settings.self_interaction:
            slope += 2.0 * _self(settings) * q
    else:
        for k, factor, angles in _terms(system, settings):
            cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
            real, imaginary = (cosine * q).sum(axis=0), (sine * q).sum(axis=0)
            slope += 2.0 * factor * (cosine * real + sine * imaginary)
            found += 2.0 * factor * (q * (sine * real - cosine * imaginary)).sum(axis=1)[:, None] * k
        if not settings.self_interaction:
            slope -= 2.0 * _self(settings) * q
    if jacobian is not None:
        jacobian = np.array(jacobian, dtype=float)
        if jacobian.shape != (size, channels, size, 3):
            raise ValueError("jacobian")
        for i in range(size):
            for axis in range(3):
                found[i, axis] -= float((slope * jacobian[:, :, i, axis]).sum())
    return found


def stress(system, settings):
    """Derivative by the strain, term by term."""
    if system.cell is None:
        raise ValueError("no cell")
    found = np.zeros((3, 3))
    for k, factor, angles in _terms(system, settings):
        waves = np.exp(1j * angles) @ system.charges
        part = factor * float((waves * waves.conj()).real.sum())
        found += part * (np.outer(k, k) * (settings.sigma**2 + 2.0 / float(k @ k)) - np.eye(3))
    return found / abs(float(np.dot(system.cell[0], np.cross(system.cell[1], system.cell[2]))))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
