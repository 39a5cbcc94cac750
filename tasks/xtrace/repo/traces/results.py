"""What an estimator returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate of a trace.

    trace: the mean of the samples, equation (4).
    error: its estimated error, equation (5); infinite for a single sample.
    samples: `(k,)` float64, in the order of the test vectors.
    """

    trace: float
    error: float
    samples: np.ndarray


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
