"""Composition with a cache, and bounded minimisation."""

import numpy as np
from scipy.optimize import minimize_scalar
from sgm import convert
from sgm.checks import check_delta, check_orders
from sgm.limits import HIGHEST_ORDER, LOWEST_ORDER
from sgm.mechanisms import registry


def moments(event, orders):
    """Smallest recorded lambda that reaches each order."""
    values = []
    for order in orders:
        above = [(lam, moment) for lam, moment in event.curve if lam + 1.0 >= order]
        values.append(min(above)[1] / min(above)[0] if above else np.inf)
    return np.array(values)


def compose(events, orders, kernel):
    orders = check_orders(orders)
    cache, total = {}, np.zeros(len(orders))
    for event in events:
        if event.count < 1:
            continue
        if event.kind == "moments":
            value = moments(event, orders)
        elif event.kind == "sampled-gaussian":
            key = (event.rate, event.noise / event.clip)
            if key not in cache:
                cache[key] = kernel(*key, orders)
            value = cache[key]
        else:
            value = registry.one_access(event, orders)
        total += event.count * value
    return total


def best_order(curve, delta):
    check_delta(delta)

    def at(log_excess):
        order = np.array([1.0 + np.exp(log_excess)])
        total = convert.epsilon(order, curve(order), delta).epsilon
        return total if np.isfinite(total) else 1e300 * (1.0 + log_excess / 100.0)

    low, high = np.log(LOWEST_ORDER - 1.0), np.log(HIGHEST_ORDER - 1.0)
    result = minimize_scalar(at, bounds=(low, high), method="bounded", options={"xatol": 1e-7, "maxiter": 58})
    best = min((result.fun, result.x), (at(low), low), (at(high), high))
    order = np.array([1.0 + np.exp(best[1])])
    return convert.epsilon(order, curve(order), delta)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
