"""The Double Sphere camera model: projection, its derivative, and its inverse (Usenko et al., 3DV 2018)."""

from __future__ import annotations

import numpy as np

from .blank import blank
from .camera import Camera
from .plane import from_pixels, to_pixels


def project(camera: Camera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels `(..., 2)` of points `(..., 3)`, and where they are valid."""
    points = np.asarray(points, dtype=np.float64)
    if points.shape[-1:] != (3,):
        raise ValueError(f"points must be (..., 3), not {points.shape}")
    size = np.abs(points).max(axis=-1, keepdims=True)
    valid = (np.isfinite(size) & (size > 0.0))[..., 0]
    # Directions of moderate length: the square of a coordinate may not be a number. A stand-in where there is none.
    x, y, z = np.moveaxis(np.where(valid[..., None], points, 1.0) / np.where(valid[..., None], size, 1.0), -1, 0)
    k = z + camera.xi * np.sqrt(x**2 + y**2 + z**2)
    d2 = np.sqrt(x**2 + y**2 + k**2)
    w = camera.alpha / (1.0 - camera.alpha) if camera.alpha <= 0.5 else (1.0 - camera.alpha) / camera.alpha
    valid &= k > -w * d2
    depth = np.where(valid, camera.alpha * d2 + (1.0 - camera.alpha) * k, 1.0)
    return blank(to_pixels(camera, np.stack([x / depth, y / depth], axis=-1)), valid), valid


def jacobian(camera: Camera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives `(..., 2, 3)` of pixels by points, and where they are valid."""
    points = np.asarray(points, dtype=np.float64)
    _, valid = project(camera, points)
    points = np.where(valid[..., None], points, np.array([0.0, 0.0, 1.0]))
    size = np.abs(points).max(axis=-1, keepdims=True)
    point = points / size
    d1 = np.sqrt((point**2).sum(axis=-1, keepdims=True))
    k = point[..., 2:] + camera.xi * d1
    d2 = np.sqrt((point[..., :2] ** 2).sum(axis=-1, keepdims=True) + k**2)
    depth = camera.alpha * d2 + (1.0 - camera.alpha) * k
    slope_k = np.array([0.0, 0.0, 1.0]) + camera.xi * point / d1
    slope_d2 = (point * np.array([1.0, 1.0, 0.0]) + k * slope_k) / d2
    slope = camera.alpha * slope_d2 + (1.0 - camera.alpha) * slope_k
    plane = np.eye(2, 3) / depth[..., None] - point[..., :2, None] * (slope / depth**2)[..., None, :]
    focal = np.array([[camera.fx], [camera.fy]])
    return blank(focal * plane / size[..., None], valid), valid


def unproject(camera: Camera, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit rays `(..., 3)` of pixels `(..., 2)`, and where they are valid."""
    pixels = np.asarray(pixels, dtype=np.float64)
    if pixels.shape[-1:] != (2,):
        raise ValueError(f"pixels must be (..., 2), not {pixels.shape}")
    valid = np.isfinite(pixels).all(axis=-1)
    plane = from_pixels(camera, np.where(valid[..., None], pixels, 0.0))
    square = (plane**2).sum(axis=-1)
    valid &= (2.0 * camera.alpha - 1.0) * square <= 1.0
    root = np.sqrt(np.where(valid, 1.0 - (2.0 * camera.alpha - 1.0) * square, 1.0))
    if camera.alpha == 1.0:
        mz = root
    else:
        mz = (1.0 - camera.alpha**2 * square) / (camera.alpha * root + 1.0 - camera.alpha)
    t = (mz * camera.xi + np.sqrt(mz**2 + (1.0 - camera.xi**2) * square)) / (mz**2 + square)
    rays = t[..., None] * np.concatenate([plane, mz[..., None]], axis=-1)
    rays[..., 2] -= camera.xi
    return blank(rays, valid), valid


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
