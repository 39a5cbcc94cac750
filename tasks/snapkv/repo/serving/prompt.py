"""What one layer computes from a prompt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Prompt:
    """Rotated queries and keys, and values, of T tokens."""

    queries: np.ndarray  # (H, T, d)
    keys: np.ndarray  # (K, T, d)
    values: np.ndarray  # (K, T, e)

    def __post_init__(self) -> None:
        shapes = self.queries.shape, self.keys.shape, self.values.shape
        if [len(shape) for shape in shapes] != [3, 3, 3]:
            raise ValueError(f"queries, keys and values have three axes, not {shapes}")
        queries, keys, values = shapes
        if queries[1:] != keys[1:] or keys[:2] != values[:2] or not keys[0] or queries[0] % keys[0]:
            raise ValueError(f"queries, keys and values of {shapes} do not belong together")

    @property
    def group(self) -> int:
        """Query heads for each key-value head."""
        return self.queries.shape[0] // self.keys.shape[0]

    def __len__(self) -> int:
        return self.keys.shape[1]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
