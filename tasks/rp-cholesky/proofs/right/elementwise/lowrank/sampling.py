"""Draws and rejections, entry by entry."""

import bisect
import math

import numpy as np

from .results import NEGLIGIBLE


def draw(weights, uniforms):
    weights, uniforms = np.array(weights, dtype=float), np.array(uniforms, dtype=float)
    if weights.ndim != 1 or uniforms.ndim != 1:
        raise ValueError("vectors, please")
    if not all(math.isfinite(w) and w >= 0 for w in weights) or not any(weights):
        raise ValueError("no weights to draw from")
    if not all(0 <= u < 1 for u in uniforms):
        raise ValueError("numbers must be at least 0 and below 1")
    sums, total = [], 0.0
    for weight in weights.tolist():
        total += weight
        sums.append(total)
    return np.array([bisect.bisect_right(sums, u * total) for u in uniforms.tolist()], dtype=np.int64)


def rejection(block, uniforms, limit=None):
    block, uniforms = np.array(block, dtype=float), np.array(uniforms, dtype=float)
    if uniforms.ndim != 1 or block.shape != (uniforms.size, uniforms.size):
        raise ValueError("a square with a row for each number")
    limit = uniforms.size if limit is None else limit
    accepted, rows = [], []
    for i, u in enumerate(uniforms.tolist()):
        if len(accepted) >= limit:
            return _result(accepted, rows)
        row = []  # of the factor: forward substitution with the rows so far
        for j, other in zip(accepted, rows, strict=True):
            known = sum(a * b for a, b in zip(row, other, strict=False))
            row.append((block[i, j] - known) / other[-1])
        left = block[i, i] - sum(a * a for a in row)
        if u * block[i, i] < left and left > NEGLIGIBLE * block[i, i]:
            accepted.append(i)
            rows.append([*row, math.sqrt(left)])
    return _result(accepted, rows)


def _result(accepted, rows):
    factor = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        factor[i, : i + 1] = row
    return np.array(accepted, dtype=np.int64), factor


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
