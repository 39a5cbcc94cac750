"""Tail bound of the moments accountant."""

import numpy as np

from sgm.legacy.moments import LAMBDAS


def epsilon(log_moments, delta):
    """Smallest epsilon that some lambda proves."""
    return float(np.min((log_moments - np.log(delta)) / LAMBDAS))


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
