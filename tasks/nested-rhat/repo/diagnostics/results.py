"""What the diagnostics return."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Variances:
    """The parts of nested R-hat for P variables and K superchains, the latter in the order of increasing ids.

    between: `(P,)` float64, equation (1).
    chains: `(K, P)` float64, equation (2), between the chains of each superchain.
    draws: `(K, P)` float64, equation (3), within the chains of each superchain.
    """

    between: np.ndarray
    chains: np.ndarray
    draws: np.ndarray


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
