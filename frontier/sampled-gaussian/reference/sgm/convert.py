"""From Rényi differential privacy to (epsilon, delta)."""

import numpy as np
from sgm.checks import check_delta, check_orders
from sgm.results import Guarantee


def smallest(orders, totals):
    """Least total, and the smallest order that has it."""
    place = np.lexsort((orders, totals))[0]
    return float(totals[place]), float(orders[place])


def epsilon(orders, values, delta):
    """The least epsilon for a delta."""
    orders = check_orders(orders)
    check_delta(delta)
    with np.errstate(divide="ignore"):
        least, order = smallest(orders, values - np.log(delta) / (orders - 1.0))
    return Guarantee(least, delta, order if np.isfinite(least) else None)


def delta(orders, values, epsilon):
    """The least delta for an epsilon."""
    orders, values = check_orders(orders), np.asarray(values)
    above = orders > 1.0
    exponents = np.zeros(orders.shape)
    exponents[above] = (orders[above] - 1.0) * (values[above] - epsilon)
    least, order = smallest(orders, exponents)
    if least >= 0.0:
        return Guarantee(epsilon, 1.0, None)
    return Guarantee(epsilon, float(np.exp(least)), order)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
