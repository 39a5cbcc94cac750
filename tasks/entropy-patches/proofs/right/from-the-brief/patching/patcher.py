"""Entropy patching (Pagnoni et al., 2024)."""

from __future__ import annotations

import numpy as np

from .batch import Patches, real
from .settings import NEWLINE, PADDING, RULES, PatchSettings


def byte_entropies(logits: np.ndarray) -> np.ndarray:
    """Entropy in nats of the prediction of each byte: logits `(..., T + 1, V)` -> `(..., T)` float64."""
    logits = np.asarray(logits, dtype=np.float64)
    if logits.ndim < 2 or logits.shape[-2] == 0:
        raise ValueError(f"logits must be (..., T + 1, V), not {logits.shape}")
    logits = logits[..., :-1, :]
    top = np.argmax(logits, axis=-1)[..., None]
    with np.errstate(over="ignore"):
        below = np.take_along_axis(logits, top, axis=-1) - logits  # >= 0
    factors = np.exp(-below)
    # H = ln Z + sum p (top - logit), with Z = 1 + others: both parts are positive, and small ones are exact
    others = factors.copy()
    np.put_along_axis(others, top, 0.0, axis=-1)
    others = others.sum(axis=-1)
    terms = factors * np.where(factors > 0.0, below, 0.0)
    return np.log1p(others) + terms.sum(axis=-1) / (1.0 + others)


def patch_starts(entropies: np.ndarray, data: np.ndarray, lengths: np.ndarray, settings: PatchSettings) -> np.ndarray:
    """Whether a patch begins at each byte of a padded batch: `(B, T)` bool."""
    entropies = np.asarray(entropies, dtype=np.float64)
    data = np.asarray(data)
    if settings.rule not in RULES:
        raise ValueError(f"unknown rule {settings.rule!r}: choose one of {', '.join(RULES)}")
    if settings.max_length is not None and settings.max_length < 1:
        raise ValueError(f"max_length must be at least 1, not {settings.max_length}")
    if entropies.shape != data.shape:
        raise ValueError(f"entropies {entropies.shape} and data {data.shape} differ in shape")
    mask = real(data.shape, lengths)

    starts = np.zeros(data.shape, dtype=bool)
    starts[:, :1] = True
    if settings.rule == "global":
        starts |= entropies > settings.threshold
    else:
        with np.errstate(invalid="ignore"):
            starts[:, 1:] |= entropies[:, 1:] - entropies[:, :-1] > settings.threshold
    if settings.reset:
        starts[:, 1:] |= data[:, :-1] == NEWLINE
    if settings.max_length is not None:
        size = np.zeros(len(starts), dtype=np.int64)  # of the patch that holds the byte before
        for place in range(starts.shape[1]):
            starts[:, place] |= size >= settings.max_length
            size = np.where(starts[:, place], 1, size + 1)
    return starts & mask


def patch_batch(starts: np.ndarray, lengths: np.ndarray) -> Patches:
    """Patch lengths and the patch of each byte of a padded batch."""
    starts = np.asarray(starts) != 0
    mask = real(starts.shape, lengths)
    starts = starts & mask
    if np.any(mask[:, :1] & ~starts[:, :1]):
        raise ValueError("the first byte of a sequence must start a patch")
    counts = starts.sum(axis=1)
    index = np.where(mask, np.cumsum(starts, axis=1, dtype=np.int64) - 1, PADDING)
    sizes = np.zeros((len(starts), int(counts.max(initial=0))), dtype=np.int64)
    rows, _ = np.nonzero(mask)
    np.add.at(sizes, (rows, index[mask]), 1)
    return Patches(sizes, index)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
