"""Conversions, order by order."""

import math

from sgm.checks import check_delta, check_orders
from sgm.results import Guarantee


def epsilon(orders, values, delta):
    check_delta(delta)
    best, source = math.inf, None
    for order, value in sorted(zip(check_orders(orders).tolist(), map(float, values), strict=True)):
        if order > 1.0 and value - math.log(delta) / (order - 1.0) < best:
            best, source = value - math.log(delta) / (order - 1.0), order
    return Guarantee(best, delta, source)


def delta(orders, values, epsilon):
    best, source = 0.0, None
    for order, value in sorted(zip(check_orders(orders).tolist(), map(float, values), strict=True)):
        if order > 1.0 and (order - 1.0) * (value - epsilon) < best:
            best, source = (order - 1.0) * (value - epsilon), order
    return Guarantee(epsilon, math.exp(best), source)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
