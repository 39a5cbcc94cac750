"""AdEMAMix (Pagliardini et al., 2024)."""

from __future__ import annotations

import numpy as np

from .config import Config
from .state import State


def alpha_at(step: int, alpha: float, warmup: int | None = None) -> float:
    """The weight of the slow average at update number `step`."""
    raise NotImplementedError


def beta3_at(step: int, beta3: float, start: float, warmup: int | None = None) -> float:
    """The decay rate of the slow average at update number `step`."""
    raise NotImplementedError


def update(
    parameters: dict[str, np.ndarray],
    gradients: dict[str, np.ndarray | None],
    states: dict[str, State],
    config: Config,
    lr: float | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, State]]:
    """New parameters and new states after one update."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
