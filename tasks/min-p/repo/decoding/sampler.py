"""Min-p sampling (Nguyen et al., ICLR 2025)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .masks import masked
from .settings import SamplerSettings


def kept(logits: np.ndarray, settings: SamplerSettings) -> np.ndarray:
    """Which tokens remain after truncation: `(..., V)` bool."""
    raise NotImplementedError


def probabilities(logits: np.ndarray, settings: SamplerSettings, allowed: np.ndarray | None = None) -> np.ndarray:
    """The distribution to sample from: `(..., V)` float64."""
    raise NotImplementedError


def sample(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Tokens `(...)` int64 from weights `(..., V)` and one number in [0, 1) for each of them, by the inverse CDF."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
