"""Pseudorandom g-values from a context, a token and the keys."""

from __future__ import annotations

import numpy as np

from .hashing import START, absorb, bits, uniforms
from .settings import Settings


def g_values(settings: Settings, contexts: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Return the g-values (..., n, depth) of the tokens (..., n) that may follow the contexts (..., window).

    Tokens of a context are ordered as in the text. Leading axes are broadcast. Raises ValueError for a context that is not
    `window` tokens long.
    """
    contexts, tokens = np.asarray(contexts), np.asarray(tokens)
    if contexts.shape[-1] != settings.window:
        raise ValueError(f"a context has {settings.window} tokens, not {contexts.shape[-1]}")
    state = START
    for position in range(settings.window):
        state = absorb(state, contexts[..., position])
    state = absorb(state[..., None], tokens)
    state = absorb(state[..., None], np.array(settings.keys))
    return uniforms(state) if settings.uniform else bits(state)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
