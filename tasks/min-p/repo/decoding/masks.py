"""Which tokens are possible."""

from __future__ import annotations

import numpy as np


def masked(logits: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """A float64 copy of logits `(..., V)` with `-inf` for every token that is not allowed.

    allowed: bool, of a shape that broadcasts to that of the logits; None allows all tokens. What the logit of a token is
    that is not allowed does not matter. Raises ValueError if the logit of an allowed token is NaN or `+inf`, or if all
    tokens of a row have the logit `-inf` in the result.
    """
    logits = np.array(logits, dtype=np.float64)
    if allowed is not None:
        logits[~np.broadcast_to(np.asarray(allowed, dtype=bool), logits.shape)] = -np.inf
    if not np.all(logits < np.inf):
        raise ValueError("a logit is NaN or infinite")
    if not np.all(np.any(logits > -np.inf, axis=-1)):
        raise ValueError("no token is possible")
    return logits


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
