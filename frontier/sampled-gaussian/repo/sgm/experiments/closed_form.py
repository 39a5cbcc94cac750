"""How far the closed form is above the divergence."""

import numpy as np

from sgm import bound
from sgm.divergence import divergence


def slack(rate, sigma, orders):
    """Ratio of both, where the closed form holds."""
    above = bound.curve(rate, sigma, orders)
    holds = np.isfinite(above)
    return orders[holds], above[holds] / divergence(rate, sigma, orders[holds])


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
