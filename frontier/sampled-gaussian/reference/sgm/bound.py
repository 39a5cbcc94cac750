"""The closed form of the paper, and where it holds."""

import numpy as np
from scipy.optimize import brentq
from sgm.checks import check_orders, check_rate, check_sigma

LARGEST_RATE = 0.2
SMALLEST_SIGMA = 4.0


def slack(rate, sigma, order):
    """The smaller of what the two conditions leave, for orders above 1."""
    log_term = np.log1p(1.0 / (rate * (order - 1.0)))
    first = sigma**2 * log_term / 2.0 - 2.0 * np.log(sigma) - order
    above = sigma**2 * log_term**2 / 2.0 - np.log(5.0) - 2.0 * np.log(sigma)
    below = log_term + np.log(rate * order) + 1.0 / (2.0 * sigma**2)
    return np.minimum(first, above - order * below)


def curve(rate, sigma, orders):
    """The closed form for each order, inf where it does not hold."""
    orders = check_orders(orders)
    check_rate(rate)
    check_sigma(sigma)
    result = np.full(orders.shape, np.inf)
    if 0.0 < rate <= LARGEST_RATE and sigma >= SMALLEST_SIGMA:
        above = orders > 1.0
        holds = np.flatnonzero(above)[slack(rate, sigma, orders[above]) >= 0.0]
        result.flat[holds] = 2.0 * rate**2 * orders.flat[holds] / sigma**2
    return result


def largest_order(rate, sigma):
    """The largest order at which the closed form holds."""
    check_rate(rate)
    check_sigma(sigma)
    if not (0.0 < rate <= LARGEST_RATE and sigma >= SMALLEST_SIGMA):
        return None
    high = 2.0
    while slack(rate, sigma, high) >= 0.0:
        high *= 2.0
    return brentq(lambda order: slack(rate, sigma, order), high / 2.0, high)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
