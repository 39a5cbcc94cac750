"""The parameters of the long-range energy, checked once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Settings:
    """Parameters that all functions of `les.ewald` take.

    sigma: width of the Gaussian that smears every charge, in Angstrom.
    cutoff: largest length of a k-vector, in 1/Angstrom. Isolated systems do not use it.
    self_interaction: whether the energy contains the interaction of each Gaussian with itself.
    """

    sigma: float = 1.0
    cutoff: float = float(np.pi)
    self_interaction: bool = False

    def __post_init__(self) -> None:
        for name in ("sigma", "cutoff"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} must be positive and finite, not {value}")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
