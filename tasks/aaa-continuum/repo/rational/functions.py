"""Functions to approximate."""

from __future__ import annotations

import numpy as np


def runge(centre: float, width: float):
    """A pair of poles at `centre` +- i `width`."""
    return lambda x: 1.0 / (1.0 + ((x - centre) / width) ** 2)


def kink(centre: float):
    """The distance from `centre`, which needs poles that cluster."""
    return lambda x: np.abs(x - centre)


def front(centre: float, width: float):
    """A smooth step."""
    return lambda x: np.tanh((x - centre) / width)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
