"""Conversions on sorted orders."""

import numpy as np
from sgm.checks import check_delta, check_orders
from sgm.results import Guarantee


def prepared(orders, values):
    orders, values = check_orders(orders), np.array(values, dtype=float)
    place = np.argsort(orders)
    place = place[orders[place] > 1.0]
    return orders[place], values[place]


def epsilon(orders, values, delta):
    check_delta(delta)
    orders, values = prepared(orders, values)
    totals = values + abs(np.log(delta)) / (orders - 1.0)
    if not np.isfinite(totals).any():
        return Guarantee(float("inf"), delta, None)
    return Guarantee(float(totals.min()), delta, float(orders[totals.argmin()]))


def delta(orders, values, epsilon):
    orders, values = prepared(orders, values)
    exponents = (values - epsilon) * (orders - 1.0)
    if not (exponents < 0.0).any():
        return Guarantee(epsilon, 1.0, None)
    return Guarantee(epsilon, float(np.exp(exponents.min())), float(orders[exponents.argmin()]))


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
