"""The key-value cache of one layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Cache:
    """Entries of each key-value head. `length` counts all tokens so far, kept or not: the position of the next one."""

    keys: np.ndarray  # (K, n, d), dtype of the prompt's keys
    values: np.ndarray  # (K, n, e), dtype of the prompt's values
    positions: np.ndarray  # (K, n) int64, increasing in each row
    length: int  # a Python integer

    def extended(self, keys: np.ndarray, values: np.ndarray) -> Cache:
        """A new cache with the entries `(K, d)` and `(K, e)` of the next token."""
        position = np.full((len(keys), 1), self.length, dtype=np.int64)
        return Cache(
            np.concatenate([self.keys, keys[:, None]], axis=1),
            np.concatenate([self.values, values[:, None]], axis=1),
            np.concatenate([self.positions, position], axis=1),
            self.length + 1,
        )


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
