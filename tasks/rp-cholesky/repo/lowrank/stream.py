"""The source of randomness: numbers that the caller gives."""

from __future__ import annotations

import numpy as np


class Uniforms:
    """Numbers in [0, 1), each of which is handed out once, in order. `used` says how many were."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = np.array(numbers, dtype=np.float64)
        self.used = 0

    def take(self, count: int) -> np.ndarray:
        """The next `count` numbers. Raises RuntimeError if there are not as many left."""
        if count > len(self._numbers) - self.used:
            raise RuntimeError(f"{count} numbers are needed, and {len(self._numbers) - self.used} are left")
        self.used += count
        return self._numbers[self.used - count : self.used].copy()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
