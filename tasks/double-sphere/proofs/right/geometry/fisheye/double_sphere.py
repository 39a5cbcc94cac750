"""The construction itself: two normalisations and a shift, with the chain rule; and back, sphere by sphere."""

import numpy as np

from .blank import blank
from .camera import Camera
from .plane import from_pixels, to_pixels

AXIS = np.array([0.0, 0.0, 1.0])


def _norm(vectors):
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]


def _directions(points):
    points = np.array(points, dtype=float)
    if np.ndim(points) < 1 or points.shape[-1] != 3:
        raise ValueError("the last axis must have x, y and z")
    known = np.isfinite(points).all(axis=-1) & (points != 0.0).any(axis=-1)
    points[~known] = AXIS
    largest = np.max(np.abs(points), axis=-1)[..., None]
    points = points / largest
    length = _norm(points)
    return points / length, length, largest, known


def _limit(camera):
    return min(camera.alpha, 1.0 - camera.alpha) / max(camera.alpha, 1.0 - camera.alpha)


def _second(camera, first):
    shifted = first + camera.xi * AXIS
    length = _norm(shifted)
    return shifted / length, length


def project(camera: Camera, points):
    first, _, _, known = _directions(points)
    second, _ = _second(camera, first)
    valid = np.logical_and(known, second[..., 2] > -_limit(camera))
    depth = np.where(valid, camera.alpha + (1.0 - camera.alpha) * second[..., 2], 1.0)
    return blank(to_pixels(camera, second[..., :2] / depth[..., None]), valid), valid


def _normalising(unit, length):
    return (np.eye(3) - unit[..., :, None] * unit[..., None, :]) / length[..., None]


def jacobian(camera: Camera, points):
    first, length, largest, known = _directions(points)
    second, shifted = _second(camera, first)
    valid = np.logical_and(known, second[..., 2] > -_limit(camera))
    depth = np.where(valid, camera.alpha + (1.0 - camera.alpha) * second[..., 2], 1.0)[..., None, None]
    last = np.eye(2, 3) * depth
    last[..., 2] -= (1.0 - camera.alpha) * second[..., :2]
    last /= depth**2
    chain = last @ _normalising(second, shifted) @ _normalising(first, length) / largest[..., None]
    return blank(chain * np.array([[camera.fx], [camera.fy]]), valid), valid


def unproject(camera: Camera, pixels):
    pixels = np.array(pixels, dtype=float)
    if np.ndim(pixels) < 1 or pixels.shape[-1] != 2:
        raise ValueError("the last axis must have u and v")
    valid = np.isfinite(pixels).all(axis=-1)
    pixels[~valid] = 0.0
    alpha, xi = camera.alpha, camera.xi
    plane = from_pixels(camera, pixels)
    square = np.einsum("...i,...i->...", plane, plane)
    inside = 1.0 - (2.0 * alpha - 1.0) * square
    valid = valid & (inside >= 0.0)
    root = np.sqrt(np.maximum(inside, 0.0))
    # The depth c of a point of the second sphere solves |c m|^2 + ((c - alpha) / (1 - alpha))^2 = 1.
    c = (alpha + (1.0 - alpha) * root) / (1.0 + (1.0 - alpha) ** 2 * square)
    side = c[..., None] * plane
    # The height is (c - alpha) / (1 - alpha), without the quotient of small numbers.
    up = (root - alpha * (1.0 - alpha) * square) / (1.0 + (1.0 - alpha) ** 2 * square)
    second = np.concatenate([side, up[..., None]], axis=-1)
    along = xi * second[..., 2]
    length = along + np.sqrt(along**2 + 1.0 - xi**2)
    return blank(length[..., None] * second - xi * AXIS, valid), valid


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
