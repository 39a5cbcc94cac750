"""Composition in two passes, and the golden section."""

import numpy as np
from sgm import convert
from sgm.checks import check_delta, check_orders
from sgm.limits import HIGHEST_ORDER, LOWEST_ORDER
from sgm.mechanisms.registry import one_access


def of_moments(curve, orders):
    table = np.array(sorted(curve))
    known = np.concatenate([table[:, 1] / table[:, 0], [np.inf]])
    return known[np.searchsorted(table[:, 0], orders - 1.0)]


def compose(events, orders, kernel):
    orders = check_orders(orders)
    terms, steps = [np.zeros(orders.shape)], {}
    for event in events:
        if event.count <= 0:
            pass
        elif event.kind == "sampled-gaussian":
            steps.setdefault((event.rate, event.noise / event.clip), []).append(event.count)
        elif event.kind == "moments":
            terms.append(event.count * of_moments(event.curve, orders))
        else:
            terms.append(event.count * one_access(event, orders))
    terms += [sum(counts) * np.asarray(kernel(rate, sigma, orders)) for (rate, sigma), counts in steps.items()]
    return np.sum(terms, axis=0)


def best_order(curve, delta):
    """In 1 / (order - 1)."""
    check_delta(delta)
    tried = {}

    def at(place):
        order = min(max(1.0 + np.exp(-place), LOWEST_ORDER), HIGHEST_ORDER)
        if order not in tried:
            tried[order] = convert.epsilon([order], curve(np.array([order])), delta)
        return tried[order].epsilon

    ratio = 0.5 * (3.0 - 5.0**0.5)
    a, b = -np.log(HIGHEST_ORDER - 1.0), -np.log(LOWEST_ORDER - 1.0)
    at(a)
    at(b)
    c, d = a + ratio * (b - a), b - ratio * (b - a)
    for _ in range(45):
        if at(c) >= at(d):  # both may be infinite where orders are large, at the left
            a, c, d = c, d, b - ratio * (b - c)
        else:
            b, d, c = d, c, a + ratio * (d - a)
    return min(tried.values(), key=lambda guarantee: guarantee.epsilon)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
