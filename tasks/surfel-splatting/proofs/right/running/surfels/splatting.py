"""Projection in one batch, intersections by Cramer's rule."""

from __future__ import annotations

import numpy as np

from .camera import Camera
from .model import Surfels
from .records import Samples, Splats
from .settings import EDGE_ON, RenderConfig


def project(surfels: Surfels, camera: Camera) -> Splats:
    """Drop what is too near, sort the rest, and build the matrices."""
    where = camera.to_camera(surfels.positions)
    kept = np.flatnonzero(where[:, 2] >= camera.near)
    kept = kept[np.lexsort((kept, where[kept, 2]))]
    where = where[kept]
    origin = np.asarray(camera.translation, dtype=np.float64)
    u_axis, v_axis = (camera.to_camera(axis[kept]) - origin for axis in surfels.tangents)
    normals = np.cross(u_axis, v_axis)
    facing = np.einsum("ki,ki->k", normals, where) <= 0.0
    normals *= np.where(facing, 1.0, -1.0)[:, None]
    matrices = np.empty((len(kept), 3, 3))
    matrices[:, :, 0] = surfels.scales[kept, 0, None] * (u_axis @ camera.intrinsics.T)
    matrices[:, :, 1] = surfels.scales[kept, 1, None] * (v_axis @ camera.intrinsics.T)
    matrices[:, :, 2] = where @ camera.intrinsics.T
    return Splats(
        index=kept.astype(np.int64),
        matrices=matrices,
        centers=matrices[:, :2, 2] / where[:, 2, None],
        depths=where[:, 2].copy(),
        normals=normals,
        opacities=surfels.opacities[kept],
        colors=surfels.colors[kept],
    )


def sample(splats: Splats, pixels: np.ndarray, camera: Camera, config: RenderConfig) -> Samples:
    """Solve two equations for u and v at each pixel."""
    m = splats.matrices
    x, y = pixels[:, 0], pixels[:, 1]
    a, b, c = (x * m[:, 2, j, None] - m[:, 0, j, None] for j in range(3))
    d, e, f = (y * m[:, 2, j, None] - m[:, 1, j, None] for j in range(3))
    determinant = a * e - b * d
    rays = camera.rays(pixels)
    rays = rays / np.sqrt(np.einsum("pi,pi->p", rays, rays))[:, None]
    parallel = np.abs(splats.normals @ rays.T) <= EDGE_ON
    determinant[parallel] = np.inf  # u = v = 0
    u, v = (b * f - c * e) / determinant, (c * d - a * f) / determinant
    z = m[:, 2, 0, None] * u + m[:, 2, 1, None] * v + m[:, 2, 2, None]
    missed = parallel | (z < camera.near)
    with np.errstate(divide="ignore"):
        log_own = np.where(missed, -np.inf, -0.5 * (u * u + v * v))
        log_filter = -(((x - splats.centers[:, :1]) ** 2) + (y - splats.centers[:, 1:]) ** 2) / (
            2.0 * config.filter_width**2
        )
    alphas = np.exp(np.maximum(log_own, log_filter)) * splats.opacities[:, None]
    alphas[alphas > config.max_alpha] = config.max_alpha
    alphas *= alphas >= config.min_alpha
    depths = np.where(log_own < log_filter, splats.depths[:, None], z)
    return Samples(alphas=alphas, depths=depths * (alphas > 0.0))

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
