"""A hash of 64 bits, elementwise on arrays. It is fast and well mixed, but no cryptographic hash."""

from __future__ import annotations

import numpy as np

START = np.uint64(0x243F6A8885A308D3)
"""The state from which every hash starts."""


def absorb(state: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the states after one more integer each. State and values are broadcast; the result is uint64."""
    with np.errstate(over="ignore"):
        mixed = (np.asarray(state, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xD6E8FEB86659FD93)
        mixed = mixed ^ np.asarray(values).astype(np.int64).view(np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        return mixed ^ (mixed >> np.uint64(32))


def bits(state: np.ndarray) -> np.ndarray:
    """Return the highest bit of each state: 0.0 or 1.0, each for half of the states."""
    return (state >> np.uint64(63)).astype(np.float64)


def uniforms(state: np.ndarray) -> np.ndarray:
    """Return a number in [0, 1) for each state, from its 53 highest bits."""
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
