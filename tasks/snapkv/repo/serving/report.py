"""How well a window predicts what is attended to later."""

from __future__ import annotations

import numpy as np

from .attention import weights_of
from .layer import Layer
from .rotary import rotate
from .settings import Settings
from .snapkv import compress, hit_rate


def hit_rates(layer: Layer, tokens: np.ndarray, count: int, settings: Settings, threshold: float) -> list[float]:
    """Hit rates of the last `count` of the `(T, D)` tokens, for the cache of those before."""
    size = len(tokens) - count
    prompt = layer.prompt(tokens[:size])
    cache = compress(prompt, settings)
    found = []
    for place in range(size, len(tokens)):
        query = rotate(tokens[place][None] @ layer.to_queries, np.array([place]))[:, 0]
        weights = weights_of(query, prompt.keys)[:, : size - settings.window]
        found.append(hit_rate(weights, cache.positions, threshold))
    return found


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
