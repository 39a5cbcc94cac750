"""Sampling along rays, one ray at a time."""

import bisect

import numpy as np

from .settings import SPACINGS


def stratified(near, far, count, jitter=None, spacing="linear"):
    if spacing not in SPACINGS:
        raise ValueError(f"spacing must be one of {SPACINGS}, not {spacing!r}")
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    starts, ends = np.asarray(near, dtype=np.float64), np.asarray(far, dtype=np.float64)
    rays = len(starts)
    moved = np.full((rays, count), 0.5) if jitter is None else np.asarray(jitter, dtype=np.float64)
    if moved.shape != (rays, count):
        raise ValueError(f"jitter must have the shape {(rays, count)}, not {moved.shape}")
    for start, end in zip(starts, ends, strict=True):
        if not start < end:
            raise ValueError("near must be less than far on every ray")
        if spacing == "disparity" and start <= 0:
            raise ValueError("disparity needs near > 0 on every ray")
    depths = np.empty((rays, count))
    for ray in range(rays):
        for i in range(count):
            share = (i + moved[ray, i]) / count
            if spacing == "linear":
                depths[ray, i] = starts[ray] + share * (ends[ray] - starts[ray])
            else:
                depths[ray, i] = 1.0 / ((1.0 - share) / starts[ray] + share / ends[ray])
    return depths


def resample(edges, weights, uniforms, floor=1e-5):
    borders = np.asarray(edges, dtype=np.float64)
    masses = np.asarray(weights, dtype=np.float64)
    numbers = np.asarray(uniforms, dtype=np.float64)
    shaped = borders.ndim == masses.ndim == numbers.ndim == 2
    if not shaped or not len(borders) == len(masses) == len(numbers) or borders.shape[1] != masses.shape[1] + 1:
        raise ValueError("edges, weights and uniforms must be (R, M + 1), (R, M) and (R, K)")
    result = np.empty(numbers.shape)
    for ray in range(len(borders)):
        row = [float(mass) + floor for mass in masses[ray]]
        if sum(row) == 0.0:
            row = [1.0] * len(row)
        whole = sum(row)
        shares = [mass / whole for mass in row]
        reached = [0.0]
        for share in shares:
            reached.append(reached[-1] + share)
        possible = [j for j, share in enumerate(shares) if share > 0.0]
        for k, number in enumerate(numbers[ray]):
            j = bisect.bisect_right(reached, number) - 1
            if j >= len(shares) or shares[j] == 0.0:
                j = max((each for each in possible if each <= j), default=possible[0])
            width = reached[j + 1] - reached[j]
            within = min(max((number - reached[j]) / width, 0.0), 1.0)
            left, right = borders[ray, j], borders[ray, j + 1]
            result[ray, k] = min(max(left + within * (right - left), left), right)
    return result

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
