"""The Gaussian mechanism on all of the data."""

import numpy as np


def gaussian(event, orders):
    """Divergence of one access."""
    if event.noise == 0.0:
        return np.full(orders.shape, np.inf)
    return orders * event.clip**2 / (2.0 * event.noise**2)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
