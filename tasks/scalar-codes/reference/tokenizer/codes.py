"""Finite scalar quantization (Mentzer et al., ICLR 2024)."""

from __future__ import annotations

import numpy as np

from .grid import Grid


def _vectors(values: np.ndarray, grid: Grid) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.shape[-1:] != (len(grid.levels),):
        raise ValueError(f"the last axis of {values.shape} must have length {len(grid.levels)}")
    return values


def _interval(grid: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """half, offset and shift of equation (1)."""
    levels = np.array(grid.levels)
    half = (levels - 1) * (1.0 - grid.eps) / 2.0
    offset = np.where(levels % 2 == 0, 0.5, 0.0)
    return half, offset, np.arctanh(offset / half)


def bound(z: np.ndarray, grid: Grid) -> np.ndarray:
    """The numbers to be rounded, equation (2), `(..., d)`."""
    half, offset, shift = _interval(grid)
    return half * np.tanh(_vectors(z, grid) + shift) - offset


def gradient(z: np.ndarray, upstream: np.ndarray, grid: Grid) -> np.ndarray:
    """The straight-through gradient for `z`, equation (5), `(..., d)`."""
    z, upstream = _vectors(z, grid), np.asarray(upstream, dtype=np.float64)
    if upstream.shape != z.shape:
        raise ValueError(f"z {z.shape} and upstream {upstream.shape} must have the same shape")
    half, _, shift = _interval(grid)
    tail = np.exp(-2.0 * np.abs(z + shift))
    slope = 4.0 * tail / (1.0 + tail) ** 2  # 1 - tanh**2 without cancellation
    return upstream * half * slope / (np.array(grid.levels) // 2)


def encode(bounded: np.ndarray, grid: Grid) -> np.ndarray:
    """The tokens of bounded numbers, equation (4), `(...)` int64."""
    bounded = _vectors(bounded, grid)
    lower = np.floor(bounded)
    rounded = lower + (bounded - lower >= 0.5)  # bounded + 0.5 would round up the float just below 0.5
    indices = np.zeros(bounded.shape[:-1], dtype=np.int64)
    for axis in reversed(range(len(grid.levels))):
        level = grid.levels[axis]
        digits = np.clip(rounded[..., axis] + level // 2, 0, level - 1)
        indices = indices * level + digits.astype(np.int64)
    return indices


def decode(indices: np.ndarray, grid: Grid) -> np.ndarray:
    """The codes of tokens, equation (3), `(..., d)`."""
    indices = np.asarray(indices)
    if np.any(indices < 0) or np.any(indices >= grid.size):
        raise ValueError(f"tokens must be from 0 to {grid.size - 1}")
    rest = indices.astype(np.int64)
    codes = np.zeros((*rest.shape, len(grid.levels)))
    for axis, level in enumerate(grid.levels):
        rest, digits = np.divmod(rest, level)
        codes[..., axis] = (digits - level // 2) / (level // 2)
    return codes


def usage(indices: np.ndarray, grid: Grid, mask: np.ndarray | None = None) -> tuple[float, float]:
    """Share of the codes that occur, and perplexity of the tokens."""
    counted = np.ravel(indices) if mask is None else np.asarray(indices)[np.asarray(mask, dtype=bool)]
    if not counted.size:
        return 0.0, 0.0
    _, counts = np.unique(counted, return_counts=True)
    shares = counts / counted.size
    return len(counts) / grid.size, float(np.exp(-np.sum(shares * np.log(shares))))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
