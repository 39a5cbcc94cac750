"""Speculative decoding: a small model drafts, the large one verifies."""

from __future__ import annotations

import numpy as np
from lm.models import Model
from lm.result import Generation
from lm.sampling import draw, probabilities  # noqa: F401
from lm.settings import Settings
from lm.stream import Uniforms  # noqa: F401


def residual(target: np.ndarray, draft: np.ndarray) -> np.ndarray:
    """Return the distribution to sample from after a rejection."""
    raise NotImplementedError


def verify(target: np.ndarray, draft: np.ndarray, proposed: np.ndarray, uniforms: np.ndarray) -> tuple[int, int]:
    """Return how many proposed tokens are accepted, and the token that follows them."""
    raise NotImplementedError


def speedup(target: np.ndarray, draft: np.ndarray, gammas: np.ndarray, cost: float) -> np.ndarray:
    """Return the expected improvement in walltime for each draft length."""
    raise NotImplementedError


def generate(target: Model, draft: Model, prompt: list[int], settings: Settings, seed: int) -> Generation:
    """Decode with speculation; the tokens are distributed as the target's own."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
