"""Rotary position embedding."""

from __future__ import annotations

import numpy as np


def rotate(vectors: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """`(..., T, d)` vectors, d even, rotated for their `(T,)` positions: component i with component i + d / 2."""
    half = vectors.shape[-1] // 2
    angles = np.asarray(positions)[:, None] * 100.0 ** (-np.arange(half) / half)
    first, second = vectors[..., :half], vectors[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
