"""Entropy patching, one byte after the other."""

from __future__ import annotations

import math

import numpy as np

from .batch import Patches, real
from .settings import NEWLINE, PADDING, RULES, PatchSettings


def _entropy(row):
    order = sorted((float(each) for each in row), reverse=True)
    top = order[0]
    gaps = [top - each for each in order[1:] if each != -math.inf]
    weights = [math.exp(-gap) for gap in gaps]
    rest = math.fsum(weights)
    return math.log1p(rest) + math.fsum(w * g for w, g in zip(weights, gaps)) / (1.0 + rest)


def byte_entropies(logits):
    logits = np.asarray(logits, dtype=float)
    if logits.ndim < 2:
        raise ValueError("logits have no axis of rows")
    *leading, rows, size = logits.shape
    if not rows:
        raise ValueError("logits have no row")
    used = logits[..., : rows - 1, :].reshape(-1, size)
    return np.array([_entropy(row) for row in used], dtype=float).reshape(*leading, rows - 1)


def patch_starts(entropies, data, lengths, settings):
    if settings.rule not in RULES:
        raise ValueError("unknown rule")
    limit = settings.max_length
    if limit is not None and limit <= 0:
        raise ValueError("patches need at least one byte")
    entropies, data = np.asarray(entropies, dtype=float), np.asarray(data)
    if entropies.shape != data.shape:
        raise ValueError("shapes differ")
    real(data.shape, lengths)
    starts = np.zeros(data.shape, dtype=bool)
    for row, length in enumerate(np.asarray(lengths).tolist()):
        begin = 0
        for t in range(length):
            reasons = [t == 0, limit is not None and t - begin == limit]
            if settings.rule == "global":
                reasons.append(entropies[row, t] > settings.threshold)
            elif t:
                reasons.append(entropies[row, t] - entropies[row, t - 1] > settings.threshold)
            if settings.reset and t:
                reasons.append(data[row, t - 1] == NEWLINE)
            if any(reasons):
                starts[row, t] = True
                begin = t
    return starts


def patch_batch(starts, lengths):
    starts = np.asarray(starts)
    real(starts.shape, lengths)
    sizes = []
    index = np.full(starts.shape, PADDING, dtype=np.int64)
    for row, length in enumerate(np.asarray(lengths).tolist()):
        own = []
        for t in range(length):
            if starts[row, t]:
                own.append(0)
            if not own:
                raise ValueError("no patch for the first byte")
            own[-1] += 1
            index[row, t] = len(own) - 1
        sizes.append(own)
    table = np.zeros((len(sizes), max(map(len, sizes), default=0)), dtype=np.int64)
    for row, own in enumerate(sizes):
        table[row, : len(own)] = own
    return Patches(lengths=table, index=index)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
