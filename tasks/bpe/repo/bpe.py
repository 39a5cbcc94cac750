"""Byte pair encoding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from text.merges import Merges
from text.stream import Uniforms
from text.vocabulary import UNKNOWN, Vocabulary  # noqa: F401
from text.words import join, symbols, words  # noqa: F401


def learn(counts: dict[str, int], operations: int, min_count: int = 2) -> list[tuple[str, str]]:
    """Return the merge operations that byte pair encoding learns from word counts."""
    raise NotImplementedError


def segment(word: str, merges: Merges, dropout: float = 0.0, stream: Uniforms | None = None) -> list[str]:
    """Split one word into symbols, the last of which ends with END."""
    raise NotImplementedError


@dataclass(frozen=True)
class Tokenizer:
    """Text to ids and back."""

    merges: Merges
    vocabulary: Vocabulary

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of a text."""
        raise NotImplementedError

    def decode(self, ids: np.ndarray) -> str:
        """Return the text that ids stand for."""
        raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
