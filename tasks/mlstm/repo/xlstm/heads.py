"""From the features of tokens to those of each head, and back."""

from __future__ import annotations

import numpy as np


def project(tokens: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Products `(B, H, ..., D)` of tokens `(B, ..., X)` with the weights `(H, X, D)` of H heads.

    The axis of the heads comes before that of time, as a cell wants its leading axes.
    """
    return np.einsum("b...x,hxd->bh...d", tokens, weights)


def gate(tokens: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """One number `(B, H, ...)` for each token `(B, ..., X)` and each head, whose weights are `(H, X)`."""
    return project(tokens, weights[..., None])[..., 0]


def merge(hidden: np.ndarray) -> np.ndarray:
    """Hidden values `(B, H, ..., V)` with the heads side by side: `(B, ..., H * V)`."""
    last = np.moveaxis(hidden, 1, -2)
    return last.reshape(*last.shape[:-2], last.shape[-2] * last.shape[-1])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
