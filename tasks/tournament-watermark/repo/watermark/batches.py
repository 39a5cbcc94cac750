"""Texts of different lengths as one batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

PADDING = 0
"""What stands behind a text. It is a token, too: only the mask tells them apart."""


def pack(texts: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens (B, T) of the texts, as long as the longest of them, and a mask (B, T): true for tokens."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    tokens = np.full(mask.shape, PADDING, dtype=np.int64)
    for row, text in zip(tokens, texts, strict=True):
        row[: len(text)] = text
    return tokens, mask


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
