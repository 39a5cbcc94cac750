"""What decoding returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Decision:
    """The chosen hypothesis and how it was chosen, for H hypotheses and k candidates."""

    best: int  # a Python integer
    text: str
    candidates: np.ndarray  # (k,) int64
    coarse: np.ndarray  # (H,) float64
    fine: np.ndarray  # (k,) float64


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
