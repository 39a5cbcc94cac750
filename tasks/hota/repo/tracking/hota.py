"""HOTA: matching, counting, scores."""

from __future__ import annotations

import numpy as np

from .results import Counts, Scores
from .sequence import Sequence
from .settings import THRESHOLDS


def alignment(sequence: Sequence, threshold: float) -> np.ndarray:
    """The best association score that each pair of tracks could have, (G, T)."""
    raise NotImplementedError


def match(sequence: Sequence, threshold: float) -> list[np.ndarray]:
    """The matched pairs of each frame."""
    raise NotImplementedError


def count(sequence: Sequence, thresholds: tuple[float, ...] = THRESHOLDS) -> Counts:
    """What the scores need, for each threshold."""
    raise NotImplementedError


def evaluate(counts: list[Counts]) -> tuple[Scores, dict[str, float]]:
    """The scores of several sequences together, for each threshold and averaged over thresholds."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
