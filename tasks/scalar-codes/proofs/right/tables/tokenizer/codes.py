"""Whole arrays; a table of place values, and rounding corrected at the ties."""

from __future__ import annotations

import numpy as np

from .grid import Grid


class _Table:
    def __init__(self, grid: Grid) -> None:
        self.levels = np.asarray(grid.levels, dtype=np.int64)
        self.middle = self.levels // 2
        self.values = np.cumprod(np.concatenate([[1], self.levels[:-1]]), dtype=np.int64)
        even = self.levels % 2 == 0
        self.half = (1.0 - grid.eps) * 0.5 * (self.levels - 1)
        self.offset = 0.5 * even
        self.shift = 0.5 * (np.log1p(self.offset / self.half) - np.log1p(-self.offset / self.half))

    def rows(self, values: np.ndarray) -> np.ndarray:
        values = np.asarray(values).astype(np.float64)
        if values.ndim < 1 or values.shape[-1] != self.levels.size:
            raise ValueError(values.shape)
        return values


def bound(z: np.ndarray, grid: Grid) -> np.ndarray:
    table = _Table(grid)
    return np.tanh(table.rows(z) + table.shift) * table.half - table.offset


def gradient(z: np.ndarray, upstream: np.ndarray, grid: Grid) -> np.ndarray:
    table = _Table(grid)
    z, upstream = table.rows(z), np.asarray(upstream).astype(np.float64)
    if z.shape != upstream.shape:
        raise ValueError((z.shape, upstream.shape))
    with np.errstate(over="ignore"):
        return upstream * (table.half / table.middle) / np.square(np.cosh(z + table.shift))


def encode(bounded: np.ndarray, grid: Grid) -> np.ndarray:
    table = _Table(grid)
    bounded = np.clip(table.rows(bounded), -table.middle, (table.levels - 1) // 2)
    nearest = np.rint(bounded)
    nearest[bounded - nearest == 0.5] += 1.0  # a tie that went down to an even integer
    return ((nearest.astype(np.int64) + table.middle) * table.values).sum(axis=-1)


def decode(indices: np.ndarray, grid: Grid) -> np.ndarray:
    table, indices = _Table(grid), np.asarray(indices)
    if indices.size and not (0 <= int(indices.min()) and int(indices.max()) < grid.size):
        raise ValueError("token outside of the grid")
    digits = indices.astype(np.int64)[..., None] // table.values % table.levels
    return (digits - table.middle) / table.middle


def usage(indices: np.ndarray, grid: Grid, mask: np.ndarray | None = None) -> tuple[float, float]:
    flat = np.asarray(indices).reshape(-1)
    if mask is not None:
        flat = np.compress(np.asarray(mask).reshape(-1), flat)
    if flat.size == 0:
        return 0.0, 0.0
    ordered = np.sort(flat)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    p = np.diff(np.append(starts, flat.size)) / flat.size
    return starts.size / grid.size, float(np.prod(p**-p))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
