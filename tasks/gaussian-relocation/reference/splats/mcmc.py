"""Relocation, noise and penalty of 3DGS-MCMC (Kheradmand et al., NeurIPS 2024)."""

from __future__ import annotations

import numpy as np

from .activations import logit, sigmoid
from .geometry import covariances
from .scene import Scene
from .settings import DEAD_OPACITY, MAX_COPIES, MAX_OPACITY, MIN_OPACITY, STEEPNESS


def split(opacities: np.ndarray, copies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Opacity of each of `copies` Gaussians that look like one together, and the factor of their scales."""
    opacities, copies = np.broadcast_arrays(np.asarray(opacities, dtype=np.float64), copies)
    if not np.all((opacities >= 0.0) & (opacities <= 1.0)) or not np.all(copies >= 1):
        raise ValueError("opacities must be in [0, 1] and copies at least 1")
    copies = np.minimum(copies, MAX_COPIES)
    # The sum (2) is the integral from which it comes, over x = sqrt(2) s' t; the trapezoidal rule converges
    # exponentially for it, and all values are positive.
    distance = np.linspace(-8.0, 8.0, 321)
    with np.errstate(divide="ignore"):  # nothing is left behind an opaque Gaussian
        shares = -np.expm1(np.log1p(-opacities) / copies)
        left = np.log1p(-shares[..., None] * np.exp(-(distance**2)))
    hidden = -np.expm1(copies[..., None] * left).sum(axis=-1) * (distance[1] - distance[0]) / np.sqrt(np.pi)
    return shares, np.divide(opacities, hidden, out=np.ones_like(hidden), where=opacities > 0.0)


def relocate(scene: Scene, uniforms: np.ndarray, threshold: float = DEAD_OPACITY) -> tuple[Scene, np.ndarray]:
    """The scene with its dead Gaussians moved to live ones, and where each comes from."""
    opacities, uniforms = scene.opacities(), np.asarray(uniforms)
    if uniforms.shape != opacities.shape:
        raise ValueError(f"there are {opacities.shape} Gaussians and {uniforms.shape} numbers")
    sources = np.arange(len(opacities))
    alive = opacities > threshold
    live = np.flatnonzero(alive)
    if len(live):
        reached = np.cumsum(opacities[live])
        sources[~alive] = live[np.searchsorted(reached, uniforms[~alive] * reached[-1:], side="right")]
    copies = np.bincount(sources)[sources]
    shares, factors = split(opacities[sources], copies)
    stored = logit(np.clip(shares, MIN_OPACITY, MAX_OPACITY))
    log_scales = scene.log_scales[sources] + np.log(factors)[:, None]
    return Scene(
        scene.positions[sources],
        np.where(copies > 1, stored, scene.logits),
        np.where(copies[:, None] > 1, log_scales, scene.log_scales),
        scene.quaternions[sources],
    ), sources


def perturb(scene: Scene, normals: np.ndarray, strength: float) -> np.ndarray:
    """Positions with noise in the shape of each Gaussian, the more the fainter it is."""
    gate = sigmoid(-STEEPNESS * (scene.opacities() - DEAD_OPACITY))
    noise = np.einsum("nij,nj->ni", covariances(scene), normals)
    return scene.positions + strength * gate[:, None] * noise


def penalty(scene: Scene, opacity_weight: float, scale_weight: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Value of the regulariser, and its gradients by logits and by logarithms of scales."""
    opacities, scales = scene.opacities(), np.exp(scene.log_scales)
    value = opacity_weight * opacities.sum() + scale_weight * scales.sum()
    return float(value), opacity_weight * opacities * sigmoid(-scene.logits), scale_weight * scales


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
