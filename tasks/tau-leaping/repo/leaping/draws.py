"""Random draws from a given stream of uniform numbers, so that a simulation can be repeated."""

from __future__ import annotations

import numpy as np
from scipy.special import pdtr, pdtrik


class Draws:
    """Turns uniform numbers in [0, 1) into other draws, by inverse distribution functions, in the order of the calls."""

    def __init__(self, uniforms: np.ndarray) -> None:
        self.uniforms = np.array(uniforms, dtype=np.float64)
        self.used = 0

    def _take(self, count: int) -> np.ndarray:
        if self.used + count > len(self.uniforms):
            raise RuntimeError("the stream of random numbers is at its end")
        self.used += count
        return self.uniforms[self.used - count : self.used]

    def waiting_time(self, rate: float) -> float:
        """An exponential draw with the mean 1 / `rate`. Takes one number."""
        return float(-np.log1p(-self._take(1)[0]) / rate)

    def choice(self, weights: np.ndarray) -> int:
        """An index, with probabilities in proportion to `weights`. Takes one number."""
        edges = np.cumsum(weights)
        index = int(np.searchsorted(edges, self._take(1)[0] * edges[-1], side="right"))
        return min(index, int(np.flatnonzero(weights)[-1]))

    def poisson(self, means: np.ndarray) -> np.ndarray:
        """Poisson draws with these means, int64. Takes one number for each mean, also for a mean of 0."""
        means = np.asarray(means, dtype=np.float64)
        uniforms = self._take(means.size).reshape(means.shape)
        positive = means > 0.0
        safe = np.where(positive, means, 1.0)
        counts = np.maximum(np.ceil(pdtrik(uniforms, safe)), 0.0)
        lower = np.maximum(counts - 1.0, 0.0)
        counts = np.where(pdtr(lower, safe) >= uniforms, lower, counts)
        return np.where(positive, counts, 0.0).astype(np.int64)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
