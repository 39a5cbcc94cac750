"""A small language model."""

from __future__ import annotations

import numpy as np


class BigramModel:
    """Predicts a token from the one before it: `table` `(V, V)`, row v holds the logits after token v."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = np.asarray(table)

    def logits(self, last: np.ndarray) -> np.ndarray:
        """Logits `(B, V)` after the tokens `(B,)`."""
        return self.table[last]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
