"""Segmentation into the fewest tokens."""

from __future__ import annotations

import numpy as np

from .pretokens import split  # noqa: F401
from .stream import Uniforms
from .vocabulary import Vocabulary


def segment(data: bytes, vocabulary: Vocabulary, tie: str = "longest", stream: Uniforms | None = None) -> np.ndarray:
    """Return the ids of the fewest tokens that spell `data`, (k,)."""
    raise NotImplementedError


def encode(
    text: str,
    vocabulary: Vocabulary,
    spaces: str = "first",
    digits: bool = False,
    tie: str = "longest",
    stream: Uniforms | None = None,
) -> np.ndarray:
    """Return the ids of a text, (k,). No token crosses a boundary of its pieces."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
