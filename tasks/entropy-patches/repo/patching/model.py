"""A small byte model, in place of the Transformer of the paper."""

from __future__ import annotations

import numpy as np


class BigramModel:
    """Predicts a byte from the one before it.

    table: `(V + 1, V)` logits; row v holds those of the byte after v, the last row those of the first byte.
    """

    def __init__(self, table: np.ndarray) -> None:
        self.table = np.asarray(table)

    def logits(self, data: np.ndarray) -> np.ndarray:
        """Logits `(B, T + 1, V)` of bytes `(B, T)`; see `byte_entropies` for what the rows predict."""
        begin = np.full((len(data), 1), len(self.table) - 1)
        return self.table[np.concatenate([begin, data], axis=1)]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
