"""Each condition has its own last order; the closed form holds up to the smaller one."""

import numpy as np
from sgm.checks import check_orders, check_rate, check_sigma


def last(function):
    """Where a decreasing function of log(order - 1) changes its sign."""
    low, high = -30.0, 40.0
    for _ in range(120):
        middle = (low + high) / 2.0
        low, high = (middle, high) if function(np.exp(middle)) > 0.0 else (low, middle)
    return 1.0 + np.exp(low)


def largest_order(rate, sigma):
    check_rate(rate)
    check_sigma(sigma)
    if rate > 0.2 or sigma < 4.0 or rate == 0.0:
        return None
    half, log_sigma = sigma * sigma / 2.0, np.log(sigma)

    def log_term(excess):
        return np.log1p(rate * excess) - np.log(rate) - np.log(excess)

    def first(excess):
        return half * log_term(excess) - 2.0 * log_sigma - 1.0 - excess

    def second(excess):
        below = log_term(excess) + np.log(rate) + np.log1p(excess) + 0.25 / half
        return half * log_term(excess) ** 2 - np.log(5.0) - 2.0 * log_sigma - (1.0 + excess) * below

    return float(min(last(first), last(second)))


def curve(rate, sigma, orders):
    orders = check_orders(orders)
    top = largest_order(rate, sigma)
    if top is None:
        return np.full(len(orders), np.inf)
    return np.where((orders > 1.0) & (orders <= top), 2.0 * orders * (rate / sigma) ** 2, np.inf)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
