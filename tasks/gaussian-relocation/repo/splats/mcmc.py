"""Relocation, noise and penalty of 3DGS-MCMC (Kheradmand et al., NeurIPS 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .activations import logit, sigmoid
from .geometry import covariances
from .scene import Scene
from .settings import DEAD_OPACITY, MAX_COPIES, MAX_OPACITY, MIN_OPACITY, STEEPNESS


def split(opacities: np.ndarray, copies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Opacity of each of `copies` Gaussians that look like one together, and the factor of their scales."""
    raise NotImplementedError


def relocate(scene: Scene, uniforms: np.ndarray, threshold: float = DEAD_OPACITY) -> tuple[Scene, np.ndarray]:
    """The scene with its dead Gaussians moved to live ones, and where each comes from."""
    raise NotImplementedError


def perturb(scene: Scene, normals: np.ndarray, strength: float) -> np.ndarray:
    """Positions with noise in the shape of each Gaussian, the more the fainter it is."""
    raise NotImplementedError


def penalty(scene: Scene, opacity_weight: float, scale_weight: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Value of the regulariser, and its gradients by logits and by logarithms of scales."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
