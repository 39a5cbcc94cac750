"""Attention of one token to a cache."""

from __future__ import annotations

import numpy as np


def weights_of(query: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Weights `(H, n)` of the query heads `(H, d)` for keys `(K, n, d)`."""
    group = len(query) // len(keys)
    logits = np.einsum("kgd,knd->kgn", query.reshape(len(keys), group, -1), keys) / np.sqrt(query.shape[-1])
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)).reshape(len(query), -1)


def attend(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Output `(H, e)` of the query heads `(H, d)`."""
    group = len(query) // len(keys)
    return np.einsum("hn,hne->he", weights_of(query, keys), np.repeat(values, group, axis=0))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
