"""Arithmetic in the log domain."""

from __future__ import annotations

import numpy as np


def logsumexp(values: np.ndarray) -> float:
    """Logarithm of the sum of exponentials of a vector, of which at least one is finite and none is +inf."""
    top = values.max()
    return float(np.log(np.sum(np.exp(values - top))) + top)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
