"""BM25 with eager scores (Lù, 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .index import Index
from .settings import Settings


def idf(frequencies: np.ndarray, documents: int, settings: Settings) -> np.ndarray:
    """Inverse document frequency of terms that occur in so many of all documents: float64."""
    raise NotImplementedError


def saturation(counts: np.ndarray, relative_lengths: np.ndarray, settings: Settings) -> np.ndarray:
    """The part of a score that depends on the document: float64, of the shape that both arguments broadcast to."""
    raise NotImplementedError


def build(documents: Sequence[Sequence[int]], size: int, settings: Settings) -> Index:
    """The index of documents, each of which is a sequence of terms 0 .. size - 1."""
    raise NotImplementedError


def score(index: Index, query: Sequence[int]) -> np.ndarray:
    """The scores `(N,)` float64 of all documents for a query."""
    raise NotImplementedError


def top(scores: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and scores of the k best documents, the best first."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
