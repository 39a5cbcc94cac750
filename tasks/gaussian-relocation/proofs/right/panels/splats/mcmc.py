"""Relocation, noise and penalty of 3DGS-MCMC with Gauss-Legendre panels."""

from __future__ import annotations

import numpy as np

from .activations import logit, sigmoid
from .geometry import covariances
from .scene import Scene
from .settings import DEAD_OPACITY, MAX_COPIES, MAX_OPACITY, MIN_OPACITY, STEEPNESS

_KNOTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_X = (np.arange(12)[:, None] + 0.5 * (_KNOTS + 1.0)).ravel()  # [0, 12] in panels of length 1, in standard deviations
_W = np.tile(0.5 * _WEIGHTS, 12)


def split(opacities, copies):
    """Opacity of each of `copies` Gaussians that look like one together, and the factor of their scales."""
    old = np.asarray(opacities, dtype=np.float64)
    if np.any(~((old >= 0.0) & (old <= 1.0))) or np.any(np.asarray(copies) < 1):
        raise ValueError("opacities in [0, 1] and a positive number of copies")
    count = np.minimum(np.asarray(copies, dtype=np.int64), MAX_COPIES).astype(np.float64)
    old, count = np.broadcast_arrays(old, count)
    with np.errstate(divide="ignore", invalid="ignore"):
        new = np.where(old < 1.0, -np.expm1(np.log1p(-old) / count), 1.0)
        left = np.exp(np.log1p(-np.multiply.outer(new, np.exp(-0.5 * _X**2))) * count[..., None])
        # For faint Gaussians, 1 - left cancels; there the copies hide the sum of what each hides.
        hidden = (1.0 - left) @ _W * np.sqrt(2.0 / np.pi)
        factors = np.where(old < 1e-8, 1.0, old / hidden)
    return new, factors


def relocate(scene, uniforms, threshold=DEAD_OPACITY):
    """The scene with its dead Gaussians moved to live ones, and where each comes from."""
    count = scene.logits.size
    uniforms = np.array(uniforms, dtype=np.float64)
    if uniforms.shape != (count,):
        raise ValueError("uniforms must be (N,)")
    opacities = scene.opacities()
    dead = opacities <= threshold
    sources = np.arange(count)
    fields = [scene.positions.copy(), scene.logits.copy(), scene.log_scales.copy(), scene.quaternions.copy()]
    if dead.any() and not dead.all():
        cumulative = np.cumsum(np.where(dead, 0.0, opacities))
        greater = cumulative[None, :] > (uniforms * cumulative[-1])[:, None]
        sources[dead] = np.argmax(greater & ~dead, axis=1)[dead]
        drawn, group, counts = np.unique(sources, return_inverse=True, return_counts=True)
        new, factors = split(np.maximum(opacities[drawn], 0.0), counts)
        changed = counts[group] > 1
        fields[0][dead] = scene.positions[sources[dead]]
        fields[1][changed] = logit(np.clip(new, MIN_OPACITY, MAX_OPACITY))[group][changed]
        fields[2][changed] = (scene.log_scales[drawn] + np.log(factors)[:, None])[group][changed]
        fields[3][dead] = scene.quaternions[sources[dead]]
    return Scene(*fields), sources


def perturb(scene, normals, strength):
    """Positions with noise in the shape of each Gaussian, the more the fainter it is."""
    eta = np.asarray(normals, dtype=np.float64).reshape(-1, 3, 1)
    gate = 1.0 / (1.0 + np.exp(STEEPNESS * (scene.opacities() - DEAD_OPACITY)))
    return scene.positions + strength * gate.reshape(-1, 1) * (covariances(scene) @ eta)[..., 0]


def penalty(scene, opacity_weight, scale_weight):
    """Value of the regulariser, and its gradients by logits and by logarithms of scales."""
    opacities = scene.opacities()
    scales = np.exp(scene.log_scales)
    value = float(opacity_weight * np.sum(opacities) + scale_weight * np.sum(scales))
    return value, opacity_weight * opacities * sigmoid(-scene.logits), scale_weight * scales
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
