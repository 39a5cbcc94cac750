"""The memory of a cell between tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class State:
    """A matrix memory and its normaliser, scaled: those of (3) are these arrays times `exp(stabilizer)`. A stabiliser of -inf: nothing is stored."""

    memory: np.ndarray  # (..., V, K)
    normalizer: np.ndarray  # (..., K)
    stabilizer: np.ndarray  # (...)

    @classmethod
    def empty(cls, leading: tuple[int, ...], values: int, keys: int) -> State:
        """Nothing stored: zeros, and stabilisers of -inf."""
        return cls(np.zeros((*leading, values, keys)), np.zeros((*leading, keys)), np.full(leading, -np.inf))

    def checked(self, leading: tuple[int, ...], values: int, keys: int) -> State:
        """The same state in float64; ValueError if its shapes are others or it holds NaN."""
        memory, normalizer, stabilizer = (
            np.asarray(each, dtype=np.float64) for each in (self.memory, self.normalizer, self.stabilizer)
        )
        shapes = (memory.shape, normalizer.shape, stabilizer.shape)
        expected = ((*leading, values, keys), (*leading, keys), leading)
        if shapes != expected:
            raise ValueError(f"the state has the shapes {shapes}, not {expected}")
        if not (np.isfinite(memory).all() and np.isfinite(normalizer).all() and (stabilizer < np.inf).all()):
            raise ValueError("the state must be finite, but for stabilisers of -inf")
        return State(memory, normalizer, stabilizer)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
