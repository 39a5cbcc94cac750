"""The Laplace mechanism on all of the data."""

import numpy as np


def laplace(event, orders):
    """Divergence of one access. A Laplace distribution of scale b has the standard deviation sqrt(2) b."""
    if event.noise == 0.0:
        return np.full(orders.shape, np.inf)
    gap = np.sqrt(2.0) * event.clip / event.noise
    result = np.empty(orders.shape)
    one = orders == 1.0
    result[one] = gap + np.expm1(-gap)
    a = orders[~one]
    upper = np.log(a / (2.0 * a - 1.0)) + (a - 1.0) * gap
    lower = np.log((a - 1.0) / (2.0 * a - 1.0)) - a * gap
    result[~one] = np.logaddexp(upper, lower) / (a - 1.0)
    return result


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
