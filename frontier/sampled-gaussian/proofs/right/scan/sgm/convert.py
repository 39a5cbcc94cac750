"""Conversions by Python's min."""

import math

from sgm.checks import check_delta, check_orders
from sgm.results import Guarantee


def pairs(orders, values):
    return [
        (a, float(v))
        for a, v in zip(check_orders(orders).tolist(), list(values), strict=True)
        if a != 1.0 and v < math.inf
    ]


def epsilon(orders, values, delta):
    check_delta(delta)
    found = min(((v - math.log(delta) / (a - 1.0), a) for a, v in pairs(orders, values)), default=(math.inf, None))
    return Guarantee(found[0], delta, found[1])


def delta(orders, values, epsilon):
    found = min((((a - 1.0) * (v - epsilon), a) for a, v in pairs(orders, values)), default=(0.0, None))
    if found[0] >= 0.0:
        found = 0.0, None
    return Guarantee(epsilon, math.exp(found[0]), found[1])


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
