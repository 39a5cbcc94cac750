"""Sets of embeddings that are read in parts."""

from __future__ import annotations

import numpy as np


class Store:
    """The embeddings of a set of images, `(n, d)`, as an encoder wrote them, of any type of number.

    `width` is d, and `len(store)` is n.
    """

    def __init__(self, embeddings: np.ndarray, max_rows: int = 256) -> None:
        self._embeddings = np.array(embeddings)
        if self._embeddings.ndim != 2:
            raise ValueError(f"embeddings must be (n, d), not {self._embeddings.shape}")
        if max_rows < 1:
            raise ValueError("at least one row must be read at a time")
        self.max_rows = max_rows
        self.width = self._embeddings.shape[1]

    def __len__(self) -> int:
        return len(self._embeddings)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` to `stop` (excluded), at most `max_rows`, in their own type."""
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"there are no rows {start}:{stop} in a store of {len(self)}")
        if stop - start > self.max_rows:
            raise MemoryError(f"rows {start}:{stop} are more than {self.max_rows}")
        return self._embeddings[start:stop].copy()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
