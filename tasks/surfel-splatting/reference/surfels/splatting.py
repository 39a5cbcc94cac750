"""Splats on the image plane."""

from __future__ import annotations

import numpy as np

from .camera import Camera
from .model import Surfels
from .records import Samples, Splats
from .settings import EDGE_ON, RenderConfig


def project(surfels: Surfels, camera: Camera) -> Splats:
    """The surfels that `camera` sees, front to back."""
    rotation = np.asarray(camera.rotation, dtype=np.float64)
    means = camera.to_camera(surfels.positions)
    # A stable sort keeps surfels of equal depth in the order of the scene.
    order = np.argsort(means[:, 2], kind="stable")
    index = order[means[order, 2] >= camera.near]
    means = means[index]

    u_axis, v_axis = (tangent[index] @ rotation.T for tangent in surfels.tangents)
    normals = np.cross(u_axis, v_axis)
    away = np.sum(normals * means, axis=1) > 0.0
    scales = surfels.scales[index]
    frames = np.stack([scales[:, :1] * u_axis, scales[:, 1:] * v_axis, means], axis=2)
    matrices = camera.intrinsics @ frames
    return Splats(
        index=index,
        matrices=matrices,
        centers=matrices[:, :2, 2] / matrices[:, 2:, 2],
        depths=means[:, 2],
        normals=np.where(away[:, None], -normals, normals),
        opacities=surfels.opacities[index],
        colors=surfels.colors[index],
    )


def sample(splats: Splats, pixels: np.ndarray, camera: Camera, config: RenderConfig) -> Samples:
    """Alpha and depth of every splat at every pixel."""
    first, second, third = (splats.matrices[:, None, row] for row in range(3))  # (K, 1, 3)
    x, y = pixels[None, :, :1], pixels[None, :, 1:]
    # The planes of the pixel's column and row, as lines in the plane of the splat; their common point is (u, v).
    point = np.cross(x * third - first, y * third - second)
    rays = camera.rays(pixels)
    slope = splats.normals @ (rays / np.linalg.norm(rays, axis=1, keepdims=True)).T
    met = np.abs(slope) > EDGE_ON
    u, v = (np.where(met, point[:, :, axis], 0.0) / np.where(met, point[:, :, 2], 1.0) for axis in (0, 1))
    depths = u * third[:, :, 0] + v * third[:, :, 1] + third[:, :, 2]
    met &= depths >= camera.near

    own = np.where(met, np.exp(-0.5 * (u**2 + v**2)), 0.0)
    offsets = (pixels[None] - splats.centers[:, None]) / config.filter_width
    smooth = np.exp(-0.5 * np.sum(offsets**2, axis=2))
    alphas = np.minimum(splats.opacities[:, None] * np.maximum(own, smooth), config.max_alpha)
    alphas = np.where(alphas < config.min_alpha, 0.0, alphas)
    depths = np.where(own >= smooth, depths, splats.depths[:, None])
    return Samples(alphas=alphas, depths=np.where(alphas > 0.0, depths, 0.0))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
