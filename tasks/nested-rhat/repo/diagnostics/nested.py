"""Nested R-hat (Margossian et al., Bayesian Analysis 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .normal import normal_quantile
from .results import Variances


def variances(draws: np.ndarray, superchain_ids: np.ndarray) -> Variances:
    """Variances between superchains, between their chains, and within chains."""
    raise NotImplementedError


def nested_rhat(draws: np.ndarray, superchain_ids: np.ndarray) -> np.ndarray:
    """Nested R-hat of each variable."""
    raise NotImplementedError


def rank_nested_rhat(draws: np.ndarray, superchain_ids: np.ndarray) -> np.ndarray:
    """Nested R-hat of rank-normalised draws, for bulk and tails."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
