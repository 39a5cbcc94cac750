"""Construction of a vocabulary from the top down."""

from __future__ import annotations

import numpy as np

from .vocabulary import Vocabulary


def count_tokens(corpus: dict[bytes, int], vocabulary: Vocabulary) -> np.ndarray:
    """Return how often each token is used in a corpus, (V,)."""
    raise NotImplementedError


def increases(corpus: dict[bytes, int], vocabulary: Vocabulary) -> np.ndarray:
    """Return by how much the number of tokens of a corpus grows without each token, (V,)."""
    raise NotImplementedError


def shrink(corpus: dict[bytes, int], vocabulary: Vocabulary, size: int, batch: int) -> Vocabulary:
    """Return a vocabulary of `size` tokens, without those that the corpus needs least."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
