"""One number at a time."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np


def _constants(level, eps):
    half = 0.5 * (level - 1) * (1 - eps)
    if level % 2:
        return half, 0.0, 0.0
    return half, 0.5, 0.5 * math.log((half + 0.5) / (half - 0.5))


def _checked(values, grid):
    values = np.array(values, dtype=float)
    if values.ndim == 0 or values.shape[-1] != len(grid.levels):
        raise ValueError("wrong number of dimensions")
    return values


def bound(z, grid):
    result = _checked(z, grid)
    for place in np.ndindex(result.shape):
        half, offset, shift = _constants(grid.levels[place[-1]], grid.eps)
        result[place] = half * math.tanh(result[place] + shift) - offset
    return result


def gradient(z, upstream, grid):
    z, result = _checked(z, grid), np.array(upstream, dtype=float)
    if z.shape != result.shape:
        raise ValueError("different shapes")
    for place in np.ndindex(z.shape):
        level = grid.levels[place[-1]]
        half, _, shift = _constants(level, grid.eps)
        x = abs(z[place] + shift)
        cosh = math.cosh(x) if x < 700 else math.inf
        result[place] *= half / cosh / cosh / (level // 2)
    return result


def encode(bounded, grid):
    bounded = _checked(bounded, grid)
    tokens = np.empty(bounded.shape[:-1], dtype=np.int64)
    for place in np.ndindex(tokens.shape):
        token, weight = 0, 1
        for value, level in zip(bounded[place].tolist(), grid.levels):
            low = math.floor(value)
            nearest = low if value < low + 0.5 else low + 1
            token += weight * (min(max(nearest, -(level // 2)), (level - 1) // 2) + level // 2)
            weight *= level
        tokens[place] = token
    return tokens


def decode(indices, grid):
    indices = np.asarray(indices)
    codes = np.empty((*indices.shape, len(grid.levels)))
    for place in np.ndindex(indices.shape):
        rest = int(indices[place])
        if rest < 0 or rest >= grid.size:
            raise ValueError("no such token")
        for axis, level in enumerate(grid.levels):
            codes[(*place, axis)] = (rest % level - level // 2) / (level // 2)
            rest //= level
    return codes


def usage(indices, grid, mask=None):
    indices = np.asarray(indices)
    keep = np.ones(indices.shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    counts = Counter(int(token) for token, kept in zip(indices.ravel(), keep.ravel()) if kept)
    total = sum(counts.values())
    if total == 0:
        return 0.0, 0.0
    entropy = math.log(total) - math.fsum(n * math.log(n) for n in counts.values()) / total
    return len(counts) / grid.size, math.exp(entropy)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
