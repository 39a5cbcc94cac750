"""Relocation, noise and penalty of 3DGS-MCMC (Kheradmand et al., NeurIPS 2024)."""

from __future__ import annotations

import numpy as np

from .activations import logit, sigmoid
from .geometry import covariances
from .scene import Scene
from .settings import DEAD_OPACITY, MAX_COPIES, MAX_OPACITY, MIN_OPACITY, STEEPNESS

# The sum (2) is the integral over x of 1 - (1 - o' exp(-x^2))^N, divided by sqrt(pi). Nothing cancels in it, and the
# trapezoidal rule converges exponentially for it: with this step and for 51 copies its error is below rounding.
_STEP = 0.04
_NODES = np.arange(176) * _STEP
_WEIGHTS = np.where(_NODES == 0.0, 1.0, 2.0) * _STEP / np.sqrt(np.pi)


def split(opacities: np.ndarray, copies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Opacity of each of `copies` Gaussians that look like one together, and the factor of their scales."""
    opacities = np.asarray(opacities, dtype=np.float64)
    copies = np.asarray(copies)
    if not np.all((opacities >= 0.0) & (opacities <= 1.0)):
        raise ValueError("opacities are between 0 and 1")
    if not np.all(copies >= 1):
        raise ValueError("there is at least one copy")
    copies = np.minimum(copies, MAX_COPIES).astype(np.float64)
    opacities, copies = np.broadcast_arrays(opacities, copies)
    with np.errstate(divide="ignore", under="ignore"):
        new = -np.expm1(np.log1p(-opacities) / copies)
        hidden = np.zeros(opacities.shape)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            hidden += weight * -np.expm1(copies * np.log1p(-new * np.exp(-node * node)))
    # One Gaussian stays as it is, and for faint ones the factor is 1 + O(opacity).
    single = copies == 1.0
    trivial = single | (opacities < 1e-20)
    factors = np.where(trivial, 1.0, opacities / np.where(trivial, 1.0, hidden))
    return np.array(np.where(single, opacities, new) + 0.0), np.array(factors)


def relocate(scene: Scene, uniforms: np.ndarray, threshold: float = DEAD_OPACITY) -> tuple[Scene, np.ndarray]:
    """The scene with its dead Gaussians moved to live ones, and where each comes from."""
    opacities = scene.opacities()
    count = len(opacities)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if uniforms.shape != (count,):
        raise ValueError(f"{count} Gaussians need as many random numbers, not {uniforms.shape}")
    sources = np.arange(count, dtype=np.int64)
    dead = opacities <= threshold
    live = np.flatnonzero(~dead)
    if dead.any() and live.size:
        sums = np.cumsum(opacities[live])
        drawn = np.searchsorted(sums, uniforms[dead] * sums[-1], side="right")
        sources[dead] = live[np.minimum(drawn, live.size - 1)]

    copies = np.bincount(sources, minlength=count)
    changed = copies[sources] > 1  # the dead ones, and the live ones that were drawn
    origin = sources[changed]
    positions, logits = scene.positions.copy(), scene.logits.copy()
    log_scales, quaternions = scene.log_scales.copy(), scene.quaternions.copy()
    new, factors = split(opacities[origin], copies[origin])
    positions[changed] = scene.positions[origin]
    quaternions[changed] = scene.quaternions[origin]
    logits[changed] = logit(np.clip(new, MIN_OPACITY, MAX_OPACITY))
    log_scales[changed] = scene.log_scales[origin] + np.log(factors)[:, None]
    return Scene(positions, logits, log_scales, quaternions), sources


def perturb(scene: Scene, normals: np.ndarray, strength: float) -> np.ndarray:
    """Positions with noise in the shape of each Gaussian, the more the fainter it is."""
    normals = np.asarray(normals, dtype=np.float64).reshape(scene.positions.shape)
    gates = strength * sigmoid(-STEEPNESS * (scene.opacities() - DEAD_OPACITY))
    return scene.positions + gates[:, None] * np.einsum("nij,nj->ni", covariances(scene), normals)


def penalty(scene: Scene, opacity_weight: float, scale_weight: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Value of the regulariser, and its gradients by logits and by logarithms of scales."""
    opacities = scene.opacities()
    scales = np.exp(scene.log_scales)  # the square roots of the eigenvalues
    value = opacity_weight * np.sum(opacities) + scale_weight * np.sum(scales)
    return float(value), opacity_weight * opacities * sigmoid(-scene.logits), scale_weight * scales


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
