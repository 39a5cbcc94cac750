"""From logits to tokens."""

from __future__ import annotations

import numpy as np

from lm.settings import Settings


def probabilities(logits: np.ndarray, settings: Settings) -> np.ndarray:
    """Return next-token probabilities of the shape of `logits` (..., V), after temperature and top-k.

    Temperature 0 puts all mass on the largest logit, on the first one among equals.
    """
    logits = np.asarray(logits, dtype=np.float64)
    size = logits.shape[-1]
    order = np.argsort(-logits, axis=-1, kind="stable")
    keep = 1 if settings.temperature == 0 else min(settings.top_k or size, size)
    kept = np.zeros(logits.shape, dtype=bool)
    np.put_along_axis(kept, order[..., :keep], True, axis=-1)
    scaled = np.where(kept, logits / (settings.temperature or 1.0), -np.inf)
    weights = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def draw(distribution: np.ndarray, uniform: float) -> int:
    """Return the token at which the cumulative distribution (V,) first exceeds `uniform` in [0, 1).

    A token without mass is never drawn, whatever rounding does to the last cumulative sum.
    """
    cumulative = np.cumsum(distribution)
    token = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
    return min(token, int(np.flatnonzero(distribution)[-1]))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
