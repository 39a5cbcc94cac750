"""Finite scalar quantization (Mentzer et al., ICLR 2024)."""

from __future__ import annotations

import numpy as np

from .grid import Grid


def bound(z: np.ndarray, grid: Grid) -> np.ndarray:
    """The numbers to be rounded, equation (2), `(..., d)`."""
    raise NotImplementedError


def gradient(z: np.ndarray, upstream: np.ndarray, grid: Grid) -> np.ndarray:
    """The straight-through gradient for `z`, equation (5), `(..., d)`."""
    raise NotImplementedError


def encode(bounded: np.ndarray, grid: Grid) -> np.ndarray:
    """The tokens of bounded numbers, equation (4), `(...)` int64."""
    raise NotImplementedError


def decode(indices: np.ndarray, grid: Grid) -> np.ndarray:
    """The codes of tokens, equation (3), `(..., d)`."""
    raise NotImplementedError


def usage(indices: np.ndarray, grid: Grid, mask: np.ndarray | None = None) -> tuple[float, float]:
    """Share of the codes that occur, and perplexity of the tokens."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
