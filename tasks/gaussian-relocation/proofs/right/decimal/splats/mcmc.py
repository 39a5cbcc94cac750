"""Relocation, noise and penalty of 3DGS-MCMC, one Gaussian at a time."""

from __future__ import annotations

import bisect
import itertools
import math
from decimal import Decimal, localcontext

import numpy as np

from . import settings
from .activations import logit, sigmoid
from .geometry import rotations
from .scene import Scene


def _one(opacity, copies):
    """Opacity and factor for one Gaussian: the sum over i is a binomial coefficient, and 50 digits are enough."""
    copies = min(int(copies), settings.MAX_COPIES)
    if opacity == 0.0:
        return 0.0, 1.0
    if opacity < 1e-12:
        return opacity / copies, 1.0
    with localcontext() as context:
        context.prec = 50
        remaining = 1 - Decimal(opacity)
        new = Decimal(1) if remaining == 0 else 1 - remaining ** (Decimal(1) / copies)
        total, power = Decimal(0), Decimal(-1)
        for k in range(1, copies + 1):
            power *= -new
            total += math.comb(copies, k) * power / Decimal(k).sqrt()
        return float(new), float(Decimal(opacity) / total)


def split(opacities, copies):
    """Opacity of each of `copies` Gaussians that look like one together, and the factor of their scales."""
    opacities, copies = np.broadcast_arrays(np.array(opacities, dtype=float), np.array(copies))
    new, factors = np.zeros(opacities.shape), np.zeros(opacities.shape)
    for place in np.ndindex(opacities.shape):
        if not 0.0 <= opacities[place] <= 1.0:
            raise ValueError("an opacity is not in [0, 1]")
        if copies[place] < 1:
            raise ValueError("there must be a copy")
        new[place], factors[place] = _one(float(opacities[place]), copies[place])
    return new, factors


def relocate(scene, uniforms, threshold=settings.DEAD_OPACITY):
    """The scene with its dead Gaussians moved to live ones, and where each comes from."""
    opacities = scene.opacities().tolist()
    if np.shape(uniforms) != (len(opacities),):
        raise ValueError("one number for each Gaussian")
    live = [i for i, opacity in enumerate(opacities) if opacity > threshold]
    sources = list(range(len(opacities)))
    members = {i: [i] for i in live}
    sums = list(itertools.accumulate(opacities[i] for i in live))
    if live:
        for i, opacity in enumerate(opacities):
            if opacity <= threshold:
                sources[i] = live[bisect.bisect_right(sums, float(uniforms[i]) * sums[-1])]
                members[sources[i]].append(i)
    positions, logits = scene.positions.copy(), scene.logits.copy()
    log_scales, quaternions = scene.log_scales.copy(), scene.quaternions.copy()
    for source, group in members.items():
        if len(group) == 1:
            continue
        new, factor = _one(opacities[source], len(group))
        for i in group:
            positions[i] = scene.positions[source]
            quaternions[i] = scene.quaternions[source]
            log_scales[i] = scene.log_scales[source] + math.log(factor)
            logits[i] = logit(min(max(new, settings.MIN_OPACITY), settings.MAX_OPACITY))
    return Scene(positions, logits, log_scales, quaternions), np.array(sources, dtype=np.int64)


def perturb(scene, normals, strength):
    """Positions with noise in the shape of each Gaussian, the more the fainter it is."""
    moved = scene.positions.copy()
    axes = rotations(scene.quaternions)
    for i, opacity in enumerate(scene.opacities()):
        along = axes[i].T @ np.asarray(normals[i], dtype=float)
        gate = sigmoid(settings.STEEPNESS * (settings.DEAD_OPACITY - opacity))
        moved[i] += strength * gate * (axes[i] @ (np.exp(scene.log_scales[i]) ** 2 * along))
    return moved


def penalty(scene, opacity_weight, scale_weight):
    """Value of the regulariser, and its gradients by logits and by logarithms of scales."""
    scales = np.exp(scene.log_scales)
    small = np.exp(-np.abs(scene.logits))
    value = opacity_weight * math.fsum(scene.opacities()) + scale_weight * math.fsum(scales.ravel())
    return value, opacity_weight * small / (1.0 + small) ** 2, scale_weight * scales
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
