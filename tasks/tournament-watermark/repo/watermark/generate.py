"""Texts of a language model, with or without a watermark."""

from __future__ import annotations

import numpy as np

from .bigrams import Bigrams
from .tournament import Watermarker


def respond(model: Bigrams, watermarker: Watermarker | None, numbers: np.ndarray) -> np.ndarray:
    """Return one response per row of `numbers` (B, T), which are in [0, 1) and pick the tokens: (B, T).

    Without a watermarker, tokens come from the model as they are.
    """
    texts = np.zeros((len(numbers), 0), dtype=np.int64)
    for step in range(numbers.shape[1]):
        probabilities = model.next(texts)
        if watermarker is not None:
            probabilities = watermarker.distribution(texts, probabilities)
        chosen = (np.cumsum(probabilities, axis=1) <= numbers[:, step, None]).sum(axis=1)
        chosen = np.minimum(chosen, probabilities.shape[1] - 1)
        texts = np.concatenate([texts, chosen[:, None]], axis=1)
    return texts


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
