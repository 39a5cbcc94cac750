"""SnapKV (Li et al., NeurIPS 2024)."""

from __future__ import annotations

import numpy as np

from .cache import Cache
from .prompt import Prompt
from .settings import Settings


def votes(prompt: Prompt, window: int) -> np.ndarray:
    """Attention that the window gives to each position of the prefix, (H, T - window)."""
    raise NotImplementedError


def pool(votes: np.ndarray, settings: Settings) -> np.ndarray:
    """Votes pooled over their neighbours, same shape."""
    raise NotImplementedError


def select(scores: np.ndarray, count: int) -> np.ndarray:
    """Positions of the largest scores of each row, in increasing order, (..., count)."""
    raise NotImplementedError


def compress(prompt: Prompt, settings: Settings) -> Cache:
    """The cache of a prompt, with at most `capacity` entries for each key-value head."""
    raise NotImplementedError


def hit_rate(weights: np.ndarray, positions: np.ndarray, threshold: float = 0.05) -> float:
    """Share of the important weights whose positions were selected."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
