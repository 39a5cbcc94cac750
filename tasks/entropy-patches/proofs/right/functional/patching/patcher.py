"""Entropy patching with sorted logits and differences of positions."""

from __future__ import annotations

import numpy as np

from .batch import Patches, real
from .settings import NEWLINE, PADDING, RULES, PatchSettings


def byte_entropies(logits: np.ndarray) -> np.ndarray:
    rows = np.array(logits, dtype=np.float64)
    if rows.ndim < 2 or not rows.shape[-2]:
        raise ValueError("at least one row of logits, please")
    ordered = np.sort(np.delete(rows, -1, axis=-2), axis=-1)
    top, others = ordered[..., -1:], ordered[..., :-1]
    lead = np.where(np.isneginf(others), 1e9, top - others)  # the weight of 1e9 is 0
    weights = np.exp(-lead)
    total = 1.0 + weights.sum(axis=-1)
    # - sum p log p, the most probable byte (p = 1 / total) and the others apart
    log_total = np.log1p(weights.sum(axis=-1))
    certain = log_total / total
    rest = np.sum(weights * (lead + log_total[..., None]), axis=-1) / total
    return certain + rest


def patch_starts(
    entropies: np.ndarray, data: np.ndarray, lengths: np.ndarray, settings: PatchSettings
) -> np.ndarray:
    entropies, data = np.asarray(entropies).astype(np.float64), np.asarray(data)
    if entropies.shape != data.shape:
        raise ValueError(f"{entropies.shape} is not {data.shape}")
    inside = real(data.shape, lengths)
    limit = settings.max_length
    if settings.rule not in RULES or (limit is not None and limit < 1):
        raise ValueError(f"bad settings {settings}")
    before = entropies[:, :-1] if settings.rule == "monotonic" else 0.0
    starts = np.ones(data.shape, dtype=bool)
    starts[:, 1:] = entropies[:, 1:] - before > settings.threshold
    if settings.reset:
        starts[:, 1:] = np.logical_or(starts[:, 1:], data[:, :-1] == NEWLINE)
    if limit is not None:
        for row in starts:
            bounds = [*np.flatnonzero(row), len(row)]
            for begin, end in zip(bounds, bounds[1:]):
                row[begin:end:limit] = True
    return np.logical_and(starts, inside)


def patch_batch(starts: np.ndarray, lengths: np.ndarray) -> Patches:
    starts = np.array(starts, dtype=bool)
    inside = real(starts.shape, lengths)
    starts[~inside] = False
    patch = np.cumsum(starts, axis=1, dtype=np.int64)
    if (patch[inside] == 0).any():
        raise ValueError("bytes before the first patch")
    index = np.where(inside, patch - 1, PADDING)
    count = int(starts.sum(axis=1).max()) if len(starts) else 0
    sizes = [np.bincount(row[row >= 0], minlength=count)[:count] for row in index]
    return Patches(np.array(sizes, dtype=np.int64).reshape(len(starts), count), index)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
