"""Finite scalar quantization (Mentzer et al., ICLR 2024)."""

from __future__ import annotations

import itertools
import operator

import numpy as np

from .grid import Grid


def _constants(grid: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Half, offset and shift of equation (1), `(d,)` each."""
    levels = np.array(grid.levels, dtype=np.int64)
    half = (levels - 1).astype(np.float64) * (1.0 - grid.eps) / 2.0
    offset = np.where(levels % 2 == 0, 0.5, 0.0)
    return half, offset, np.arctanh(offset / half)


def _middles(grid: Grid) -> np.ndarray:
    """floor(L / 2) of each dimension, `(d,)` int64."""
    return np.array(grid.levels, dtype=np.int64) // 2


def _strides(grid: Grid) -> np.ndarray:
    """What the digits of a token count, `(d,)` int64."""
    return np.array([1, *itertools.accumulate(grid.levels[:-1], operator.mul)], dtype=np.int64)


def _rows(numbers: np.ndarray, grid: Grid) -> np.ndarray:
    numbers = np.asarray(numbers, dtype=np.float64)
    if numbers.ndim == 0 or numbers.shape[-1] != len(grid.levels):
        raise ValueError(f"the last axis must have the length {len(grid.levels)}, but the shape is {numbers.shape}")
    return numbers


def _tokens(indices: np.ndarray, grid: Grid) -> np.ndarray:
    """Indices as int64, after a check in their own type."""
    array = np.asarray(indices)
    if array.dtype.kind not in "iub":
        # Lists of large and of negative numbers would have become floats.
        array = np.array(indices, dtype=object)
        if any(value != int(value) for value in array.flat):
            raise ValueError("tokens are integers")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= grid.size):
        raise ValueError(f"tokens are between 0 and {grid.size - 1}")
    return array.astype(np.int64)


def bound(z: np.ndarray, grid: Grid) -> np.ndarray:
    """The numbers to be rounded, equation (2), `(..., d)`."""
    z = _rows(z, grid)
    half, offset, shift = _constants(grid)
    return half * np.tanh(z + shift) - offset


def gradient(z: np.ndarray, upstream: np.ndarray, grid: Grid) -> np.ndarray:
    """The straight-through gradient for `z`, equation (5), `(..., d)`."""
    z = _rows(z, grid)
    upstream = np.asarray(upstream, dtype=np.float64)
    if upstream.shape != z.shape:
        raise ValueError(f"z has the shape {z.shape}, but its upstream gradient {upstream.shape}")
    half, _, shift = _constants(grid)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        small = np.exp(-np.abs(z + shift))
        sech = 2.0 * small / (1.0 + small * small)
        result = upstream * sech * (half / _middles(grid)) * sech
    return np.where(np.isinf(z), 0.0, result)


def encode(bounded: np.ndarray, grid: Grid) -> np.ndarray:
    """The tokens of bounded numbers, equation (4), `(...)` int64."""
    bounded = _rows(bounded, grid)
    # Limits beyond every dimension, so that the conversion is safe; the exact limits are applied to integers.
    bounded = np.clip(bounded, -(2.0**62), 2.0**62)
    lower = np.floor(bounded)
    nearest = lower.astype(np.int64) + (bounded - lower >= 0.5)
    middles = _middles(grid)
    top = np.array(grid.levels, dtype=np.int64) - 1
    digits = np.clip(nearest + middles, 0, top)
    return np.asarray((digits * _strides(grid)).sum(axis=-1, dtype=np.int64))


def decode(indices: np.ndarray, grid: Grid) -> np.ndarray:
    """The codes of tokens, equation (3), `(..., d)`."""
    tokens = _tokens(indices, grid)
    middles = _middles(grid)
    digits = tokens[..., None] // _strides(grid) % np.array(grid.levels, dtype=np.int64)
    return (digits - middles) / middles


def usage(indices: np.ndarray, grid: Grid, mask: np.ndarray | None = None) -> tuple[float, float]:
    """Share of the codes that occur, and perplexity of the tokens."""
    tokens = _tokens(indices, grid)
    if mask is not None:
        mask = np.asarray(mask, dtype=bool)
        if mask.shape != tokens.shape:
            raise ValueError(f"a mask {mask.shape} does not fit tokens {tokens.shape}")
        tokens = tokens[mask]
    if not tokens.size:
        return 0.0, 0.0
    counts = np.unique(tokens, return_counts=True)[1]
    shares = counts / tokens.size
    return len(counts) / grid.size, float(np.exp(-np.sum(shares * np.log(shares))))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
