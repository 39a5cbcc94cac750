"""Training data, checked once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Training:
    """Inputs, outputs and noise in the shapes that the algebra wants. Make one with `Training.of`."""

    x: np.ndarray  # (n, d)
    y: np.ndarray  # (n, p): one column per output
    noise: np.ndarray  # (n,): the noise variance of every observation
    flat: bool  # True where the outputs were given as a vector, so that results should be vectors too

    @classmethod
    def of(cls, x, y, noise) -> Training:
        """Convert to float64, spread a scalar noise over the points, and check. Raises ValueError."""
        x, y = np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)
        if x.ndim != 2 or len(x) == 0:
            raise ValueError(f"x must be of shape (n, d) with n >= 1, not {x.shape}")
        if y.ndim not in (1, 2) or len(y) != len(x):
            raise ValueError(f"y must be of shape ({len(x)},) or ({len(x)}, p), not {y.shape}")
        noise = np.array(noise, dtype=np.float64)
        if noise.ndim != 0 and noise.shape != (len(x),):
            raise ValueError(f"noise must be a number or of shape ({len(x)},), not {noise.shape}")
        if not (np.isfinite(noise).all() and (noise > 0).all()):
            raise ValueError("noise variances must be positive and finite")
        spread = np.broadcast_to(noise, (len(x),)).copy()
        return cls(x=x, y=y.reshape(len(x), -1), noise=spread, flat=y.ndim == 1)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
