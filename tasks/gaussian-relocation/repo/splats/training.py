"""The driver: what happens after a gradient step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .mcmc import penalty, perturb, relocate
from .scene import Scene
from .settings import NOISE_STRENGTH, OPACITY_WEIGHT, SCALE_WEIGHT


def step(scene: Scene, position_gradient: np.ndarray, learning_rate: float, rng: np.random.Generator) -> Scene:
    """One step: gradients of the loss and of the regulariser, then noise."""
    _, logit_gradient, log_scale_gradient = penalty(scene, OPACITY_WEIGHT, SCALE_WEIGHT)
    moved = Scene(
        scene.positions - learning_rate * position_gradient,
        scene.logits - learning_rate * logit_gradient,
        scene.log_scales - learning_rate * log_scale_gradient,
        scene.quaternions,
    )
    normals = rng.standard_normal(moved.positions.shape)
    return replace(moved, positions=perturb(moved, normals, NOISE_STRENGTH * learning_rate))


def refresh(scene: Scene, rng: np.random.Generator) -> tuple[Scene, int]:
    """Every hundred steps: dead Gaussians move to live ones. The scene, and how many moved."""
    scene, sources = relocate(scene, rng.uniform(size=len(scene.logits)))
    return scene, int(np.sum(sources != np.arange(len(sources))))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
