"""The objective of KTO (Ethayarajh et al., ICML 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .batches import pad
from .numerics import logsumexp
from .results import Losses
from .settings import RATIOS

Model = Callable[[np.ndarray], np.ndarray]


def completion_logps(logits: np.ndarray, tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Log-probability of each completion, (B,)."""
    raise NotImplementedError


def reference_point(
    prompts: Sequence[np.ndarray], completions: Sequence[np.ndarray], policy: Model, reference: Model
) -> float:
    """The point from which gains and losses are measured, from mismatched pairs."""
    raise NotImplementedError


def kto_loss(
    policy_logps: np.ndarray,
    reference_logps: np.ndarray,
    desirable: np.ndarray,
    z0: float,
    *,
    beta: float = 0.1,
    desirable_weight: float = 1.0,
    undesirable_weight: float = 1.0,
) -> Losses:
    """Losses, rewards and gradients of a batch."""
    raise NotImplementedError


def balanced_weights(desirable: np.ndarray, ratio: float = 1.0) -> tuple[float, float]:
    """Weights of desirable and undesirable examples whose totals have the given ratio."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
