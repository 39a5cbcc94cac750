"""Tournament sampling: the watermark in the distribution of the next token."""

from __future__ import annotations

import numpy as np

from .seeding import g_values  # noqa: F401
from .settings import Settings


def winner_distribution(probs: np.ndarray, g: np.ndarray, candidates: int = 2) -> np.ndarray:
    """Return the distribution (..., V) of the winner of a tournament between tokens that are drawn from `probs` (..., V)."""
    raise NotImplementedError


class Watermarker:
    """Puts a watermark into the next tokens of a batch of texts, except where a context occurs again."""

    def __init__(self, settings: Settings, responses: int = 1) -> None:
        """Contexts count as repeated within `responses` successive responses."""
        raise NotImplementedError

    def start(self) -> None:
        """Begin the next response of every text."""
        raise NotImplementedError

    def distribution(self, tokens: np.ndarray, probs: np.ndarray) -> np.ndarray:
        """Return the distributions (B, V) from which to draw the tokens that follow `tokens` (B, t)."""
        raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
