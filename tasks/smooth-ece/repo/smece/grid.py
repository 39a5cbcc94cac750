"""The grid of integrals over the unit interval."""

from __future__ import annotations

import numpy as np

from .settings import GRID_POINTS


def midpoints() -> np.ndarray:
    """Middles of `GRID_POINTS` cells of equal size."""
    return (np.arange(GRID_POINTS) + 0.5) / GRID_POINTS


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
