"""The Double Sphere camera model: projection, its derivative, and its inverse."""

from __future__ import annotations

import numpy as np

from .blank import blank
from .camera import Camera
from .plane import from_pixels, to_pixels


def _entries(values: np.ndarray, size: int) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] != size:
        raise ValueError(f"the last axis must have {size} entries, not the shape {values.shape}")
    return values


class _Projected:
    """What the projection and its derivative have in common, for points scaled by powers of two."""

    def __init__(self, camera: Camera, points: np.ndarray) -> None:
        points = _entries(points, 3)
        usable = np.isfinite(points).all(axis=-1) & (points != 0.0).any(axis=-1)
        points = np.where(usable[..., None], points, np.array([0.0, 0.0, 1.0]))
        self.exponent = np.frexp(np.abs(points).max(axis=-1))[1]
        points = np.ldexp(points, -self.exponent[..., None])
        alpha, xi = camera.alpha, camera.xi
        self.points = points
        x, y, z = points[..., 0], points[..., 1], points[..., 2]
        square = x * x + y * y
        self.d1 = np.sqrt(square + z * z)
        self.k = k = z + xi * self.d1
        self.d2 = d2 = np.sqrt(square + k * k)
        w = alpha / (1.0 - alpha) if alpha <= 0.5 else (1.0 - alpha) / alpha
        # the two sums cancel for a negative k, and are quotients there
        behind = np.where(k < 0.0, k, -1.0)
        scale = alpha * d2 - (1.0 - alpha) * behind
        self.depth = np.where(
            k < 0.0,
            (alpha**2 * square + (2.0 * alpha - 1.0) * k * k) / scale,
            alpha * d2 + (1.0 - alpha) * k,
        )
        other = (1.0 - alpha) * d2 - alpha * behind
        self.slope = np.where(
            k < 0.0,
            ((1.0 - alpha) ** 2 * square + (1.0 - 2.0 * alpha) * k * k) / other,
            (1.0 - alpha) * d2 + alpha * k,
        )
        self.valid = usable & (k > -w * d2) & (self.depth > 0.0)
        self.depth = np.where(self.valid, self.depth, 1.0)
        with np.errstate(over="ignore"):
            self.plane = points[..., :2] / self.depth[..., None]
            self.pixels = to_pixels(camera, self.plane)
        self.valid = self.valid & np.isfinite(self.pixels).all(axis=-1)


def project(camera: Camera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels `(..., 2)` of points `(..., 3)`, and where they are valid."""
    found = _Projected(camera, points)
    return blank(found.pixels, found.valid), np.asarray(found.valid)


def jacobian(camera: Camera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives `(..., 2, 3)` of pixels by points, and where they are valid."""
    found = _Projected(camera, points)
    # by p: d1 -> p / d1, k -> e_z + xi p / d1, d2 -> ((x, y, 0) + k dk) / d2
    growth = camera.xi * found.points / found.d1[..., None]
    growth[..., 2] += 1.0
    growth *= (found.slope / found.d2)[..., None]
    growth[..., :2] += camera.alpha * found.points[..., :2] / found.d2[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = -found.plane[..., :, None] * growth[..., None, :]
        slopes[..., 0, 0] += 1.0
        slopes[..., 1, 1] += 1.0
        slopes = slopes / found.depth[..., None, None] * np.array([[camera.fx], [camera.fy]])
        slopes = np.ldexp(slopes, -found.exponent[..., None, None])
    return blank(slopes, found.valid), np.asarray(found.valid)


def unproject(camera: Camera, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit rays `(..., 3)` of pixels `(..., 2)`, and where they are valid."""
    pixels = _entries(pixels, 2)
    alpha, xi = camera.alpha, camera.xi
    valid = np.isfinite(pixels).all(axis=-1)
    plane = from_pixels(camera, np.where(valid[..., None], pixels, np.array([camera.cx, camera.cy])))
    square = np.sum(plane * plane, axis=-1)
    if alpha > 0.5:
        valid = valid & (square <= 1.0 / (2.0 * alpha - 1.0))
        plane = np.where(valid[..., None], plane, 0.0)
        square = np.where(valid, square, 0.0)
    root = np.sqrt(np.maximum(1.0 - (2.0 * alpha - 1.0) * square, 0.0))
    if alpha > 0.75:
        depth = (alpha * root - (1.0 - alpha)) / (2.0 * alpha - 1.0)  # (5) without the factor that may vanish
    else:
        depth = (1.0 - alpha**2 * square) / (alpha * root + 1.0 - alpha)
    shift = depth * xi
    length = np.sqrt(depth * depth + (1.0 - xi**2) * square)
    # the root minus the shift, times the numerator of (6), is (1 - xi^2) times its denominator
    scale = np.where(
        shift < 0.0,
        (1.0 - xi**2) / np.where(shift < 0.0, length - shift, 1.0),
        (shift + length) / (depth * depth + square),
    )
    rays = np.concatenate([plane, depth[..., None]], axis=-1) * scale[..., None]
    rays[..., 2] -= xi
    return blank(rays, valid), np.asarray(valid)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
