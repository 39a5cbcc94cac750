"""Vectors of length 1."""

from __future__ import annotations

import numpy as np


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (along the last axis) divided by their lengths; a vector of zeros stays one."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True, initial=0.0)
    scaled = vectors / np.where(largest > 0.0, largest, 1.0)
    length = np.sqrt(np.sum(scaled**2, axis=-1, keepdims=True))
    return scaled / np.where(length > 0.0, length, 1.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
