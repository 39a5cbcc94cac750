"""One entry at a time, in plain floats."""

import math

import numpy as np

from .camera import Camera


def _entries(values, length):
    values = np.array(values, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] != length:
        raise ValueError(f"expected (..., {length}), got {values.shape}")
    return values.shape[:-1], values.reshape(-1, length).tolist()


def _collect(shape, results, inner):
    numbers = np.full((len(results), *inner), np.nan)
    valid = np.zeros(len(results), dtype=bool)
    for place, each in enumerate(results):
        if each is not None:
            numbers[place] = each
            valid[place] = True
    return numbers.reshape(*shape, *inner), valid.reshape(shape)


def _parts(camera, point):
    """Unit direction, its k and d2, and its length; or None."""
    if not all(map(math.isfinite, point)):
        return None
    length = math.hypot(*point)
    if length == 0.0:
        return None
    x, y, z = (each / length for each in point)
    k = z + camera.xi
    d2 = math.hypot(x, y, k)
    if camera.alpha > 0.5:
        valid = camera.alpha * k > -(1.0 - camera.alpha) * d2
    else:
        valid = (1.0 - camera.alpha) * k > -camera.alpha * d2
    return (x, y, z, k, d2, length) if valid else None


def project(camera: Camera, points):
    shape, entries = _entries(points, 3)
    results = []
    for point in entries:
        parts = _parts(camera, point)
        if parts is None:
            results.append(None)
            continue
        x, y, _, k, d2, _ = parts
        depth = camera.alpha * d2 + (1.0 - camera.alpha) * k
        results.append((camera.cx + camera.fx * x / depth, camera.cy + camera.fy * y / depth))
    return _collect(shape, results, (2,))


def jacobian(camera: Camera, points):
    shape, entries = _entries(points, 3)
    results = []
    for point in entries:
        parts = _parts(camera, point)
        if parts is None:
            results.append(None)
            continue
        x, y, z, k, d2, length = parts
        a, xi = camera.alpha, camera.xi
        depth = a * d2 + (1.0 - a) * k
        by_k = a * k / d2 + 1.0 - a
        slopes = (a * x / d2 + by_k * xi * x, a * y / d2 + by_k * xi * y, by_k * (1.0 + xi * z))
        rows = []
        for focal, value, own in ((camera.fx, x, 0), (camera.fy, y, 1)):
            rows.append(
                [focal * ((place == own) - value * slope / depth) / depth / length for place, slope in enumerate(slopes)]
            )
        results.append(rows)
    return _collect(shape, results, (2, 3))


def unproject(camera: Camera, pixels):
    shape, entries = _entries(pixels, 2)
    results = []
    a, xi = camera.alpha, camera.xi
    for u, v in entries:
        mx, my = (u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy
        square = mx * mx + my * my
        if not math.isfinite(square) or (a > 0.5 and square > 1.0 / (2.0 * a - 1.0)):
            results.append(None)
            continue
        root = math.sqrt(max(1.0 - (2.0 * a - 1.0) * square, 0.0))
        mz = (a * root - (1.0 - a)) / (2.0 * a - 1.0) if a > 0.75 else (1.0 - a * a * square) / (a * root + 1.0 - a)
        t = (mz * xi + math.sqrt(mz * mz + (1.0 - xi * xi) * square)) / (mz * mz + square)
        results.append((t * mx, t * my, t * mz - xi))
    return _collect(shape, results, (3,))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
