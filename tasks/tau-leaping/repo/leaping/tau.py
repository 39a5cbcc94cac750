"""Tau-leaping: propensities, critical reactions, the leap time, and one step."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .draws import Draws
from .network import Network, population
from .settings import Settings
from .trajectory import Step


def propensities(network: Network, state: np.ndarray) -> np.ndarray:
    """The propensity of each reaction, (R,)."""
    raise NotImplementedError


def critical_reactions(network: Network, state: np.ndarray, settings: Settings) -> np.ndarray:
    """Which reactions may soon use up a species, (R,)."""
    raise NotImplementedError


def order_factors(network: Network, state: np.ndarray) -> np.ndarray:
    """The factor g of each species, (S,)."""
    raise NotImplementedError


def leap_time(network: Network, state: np.ndarray, settings: Settings) -> float:
    """The largest leap that keeps propensities nearly constant."""
    raise NotImplementedError


def step(network: Network, state: np.ndarray, remaining: float, draws: Draws, settings: Settings) -> Step:
    """One leap or one block of exact steps, no longer than `remaining`."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
