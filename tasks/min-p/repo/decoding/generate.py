"""The driver: decode a batch of texts."""

from __future__ import annotations

import numpy as np

from .model import BigramModel
from .sampler import probabilities, sample
from .settings import SamplerSettings


def generate(
    model: BigramModel,
    last: np.ndarray,
    settings: SamplerSettings,
    uniforms: np.ndarray,
    allowed: np.ndarray | None = None,
) -> np.ndarray:
    """Tokens `(B, steps)` after the tokens `last` `(B,)`, each from one of the numbers `uniforms` `(B, steps)`."""
    last = np.asarray(last)
    tokens = np.zeros(uniforms.shape, dtype=np.int64)
    for step in range(uniforms.shape[1]):
        last = sample(probabilities(model.logits(last), settings, allowed), uniforms[:, step])
        tokens[:, step] = last
    return tokens


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
