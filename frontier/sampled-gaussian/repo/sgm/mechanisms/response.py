"""Randomised response."""

import numpy as np


def response(event, orders):
    """Divergence of one answer, which is true with probability `rate` and false otherwise."""
    p = event.rate
    if p in (0.0, 1.0):
        return np.full(orders.shape, np.inf)
    gap = np.log(p) - np.log1p(-p)
    result = np.empty(orders.shape)
    one = orders == 1.0
    result[one] = (2.0 * p - 1.0) * gap
    a = orders[~one]
    terms = a * np.log(p) + (1.0 - a) * np.log1p(-p), a * np.log1p(-p) + (1.0 - a) * np.log(p)
    result[~one] = np.logaddexp(*terms) / (a - 1.0)
    return result


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
