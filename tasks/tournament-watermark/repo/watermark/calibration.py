"""A detector that decides, with a threshold from texts that have no watermark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .batches import pack
from .detection import mean_score, observe
from .settings import Settings


def scores(settings: Settings, texts: Sequence[Sequence[int]]) -> np.ndarray:
    """Return the weighted mean scores (B,) of texts of any lengths."""
    tokens, mask = pack(texts)
    return mean_score(*observe(settings, tokens, mask), weighted=True)


@dataclass(frozen=True)
class Detector:
    """Calls a text watermarked if its weighted mean score is above a threshold."""

    settings: Settings
    threshold: float

    @classmethod
    def calibrated(cls, settings: Settings, texts: Sequence[Sequence[int]], rate: float = 0.01) -> Detector:
        """Return the detector with the lowest threshold at which it finds at most the share `rate` of the given texts.

        The texts have no watermark. Raises ValueError without any, and for a rate outside of [0, 1).
        """
        if not texts or not 0.0 <= rate < 1.0:
            raise ValueError("a threshold needs texts, and a rate from 0 to below 1")
        falling = np.sort(scores(settings, texts))[::-1]
        allowed = int(rate * len(falling) + 1e-9)  # 0.29 * 100 is 28.999...
        return cls(settings, float(falling[allowed]))

    def finds(self, texts: Sequence[Sequence[int]]) -> np.ndarray:
        """Return which texts are called watermarked (B,), bool."""
        return scores(self.settings, texts) > self.threshold


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
