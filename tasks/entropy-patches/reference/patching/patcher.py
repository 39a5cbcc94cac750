"""Entropy patching (Pagnoni et al., 2024)."""

from __future__ import annotations

import numpy as np

from .batch import Patches, real
from .settings import NEWLINE, PADDING, RULES, PatchSettings


def byte_entropies(logits: np.ndarray) -> np.ndarray:
    """Entropy in nats of the prediction of each byte: logits `(..., T + 1, V)` -> `(..., T)` float64.

    Accurate relative to the entropy itself: the most probable byte is left out of the sum, so that no term cancels.
    """
    logits = np.asarray(logits, dtype=np.float64)
    if logits.ndim < 2 or logits.shape[-2] == 0:
        raise ValueError(f"logits must have the shape (..., T + 1, V), not {logits.shape}")
    logits = logits[..., :-1, :]
    below = logits.max(axis=-1, keepdims=True) - logits
    weights = np.exp(-below)
    costs = weights * np.where(weights > 0.0, below, 0.0)
    np.put_along_axis(weights, np.argmax(logits, axis=-1)[..., None], 0.0, axis=-1)
    others = weights.sum(axis=-1)
    return np.log1p(others) + costs.sum(axis=-1) / (1.0 + others)


def patch_starts(entropies: np.ndarray, data: np.ndarray, lengths: np.ndarray, settings: PatchSettings) -> np.ndarray:
    """Whether a patch begins at each byte of a padded batch: `(B, T)` bool."""
    entropies = np.asarray(entropies, dtype=np.float64)
    data = np.asarray(data)
    if entropies.shape != data.shape:
        raise ValueError(f"entropies {entropies.shape} and bytes {data.shape} must have the same shape")
    if settings.rule not in RULES:
        raise ValueError(f"unknown rule {settings.rule!r}: choose one of {', '.join(RULES)}")
    if settings.max_length is not None and settings.max_length < 1:
        raise ValueError(f"max_length must be at least 1, not {settings.max_length}")
    inside = real(data.shape, lengths)
    measure = entropies.copy()
    if settings.rule == "monotonic":
        measure[:, 1:] -= entropies[:, :-1]
    starts = measure > settings.threshold
    if settings.reset:
        starts[:, 1:] |= data[:, :-1] == NEWLINE
    starts[:, :1] = True
    if settings.max_length is not None:
        size = np.zeros(len(data), dtype=np.int64)
        for column in starts.T:  # views: forced starts are written in place
            column |= size >= settings.max_length
            size = np.where(column, 1, size + 1)
    return starts & inside


def patch_batch(starts: np.ndarray, lengths: np.ndarray) -> Patches:
    """Patch lengths and the patch of each byte of a padded batch."""
    starts = np.asarray(starts, dtype=bool)
    inside = real(starts.shape, lengths)
    starts = starts & inside
    if np.any(inside[:, :1] & ~starts[:, :1]):
        raise ValueError("the first byte of a sequence must start a patch")
    index = np.where(inside, np.cumsum(starts, axis=1) - 1, PADDING)
    sizes = np.zeros((len(starts), starts.sum(axis=1).max(initial=0)), dtype=np.int64)
    np.add.at(sizes, (np.nonzero(inside)[0], index[inside]), 1)
    return Patches(sizes, index)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
