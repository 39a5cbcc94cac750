"""Closed form, order by order, and bisection."""

import math

import numpy as np
from sgm.checks import check_orders, check_rate, check_sigma


def holds(q, s, a):
    if not (0.0 < q <= 0.2 and s >= 4.0 and a > 1.0):
        return False
    ell = math.log1p(1.0 / (q * (a - 1.0)))
    if a > s * s * ell / 2.0 - 2.0 * math.log(s):
        return False
    return a <= (s * s * ell * ell / 2.0 - math.log(5.0 * s * s)) / (ell + math.log(q * a) + 0.5 / (s * s))


def curve(rate, sigma, orders):
    orders = check_orders(orders)
    check_rate(rate)
    check_sigma(sigma)
    values = [2.0 * rate * rate * a / (sigma * sigma) if holds(rate, sigma, a) else math.inf for a in orders.tolist()]
    return np.array(values, dtype=np.float64)


def largest_order(rate, sigma):
    check_rate(rate)
    check_sigma(sigma)
    if not holds(rate, sigma, 1.0 + 1e-9):
        return None
    low, high = 1.0 + 1e-9, 1e14
    for _ in range(200):
        middle = math.sqrt(low * high)
        if holds(rate, sigma, middle):
            low = middle
        else:
            high = middle
    return low


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
