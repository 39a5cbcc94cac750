"""Images as tokens."""

from __future__ import annotations

import numpy as np


def tokens_of(image: np.ndarray, side: int, embedding: np.ndarray, class_token: np.ndarray) -> np.ndarray:
    """Tokens `(1 + H / side * W / side, C)` of an image `(H, W)`, with an embedding `(side**2, C)`."""
    height, width = image.shape
    patches = image.reshape(height // side, side, width // side, side).transpose(0, 2, 1, 3).reshape(-1, side**2)
    return np.concatenate([class_token[None], patches @ embedding])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
