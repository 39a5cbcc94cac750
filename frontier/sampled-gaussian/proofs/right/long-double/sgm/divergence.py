"""Direct differences in extended precision, and binomial series where they cancel."""

import numpy as np
from scipy.special import logsumexp
from sgm.checks import check_orders, check_rate, check_sigma
from sgm.directions import ADD, check_direction


def remainder_log(power, order, u, v):
    """log of ((1+u)^power - 1 - power u) / (power (power - 1)) with v = log(1+u)."""
    out = np.empty(len(u))
    near = np.abs(u) * (order + 1.0) < 0.03
    small = u[near]
    term, total = np.full(len(small), 0.5), np.zeros(len(small))
    for k in range(2, 16):
        total = total + term
        term = term * (power - k) / (k + 1.0) * small
    with np.errstate(divide="ignore"):
        out[near] = 2.0 * np.log(np.abs(small)) + np.log(total)
    power_of_largest = (power if power > 1.0 else -(order - 1.0)) * v
    huge = ~near & (order > 1.0) & (power_of_largest > 5000.0)
    out[huge] = (power_of_largest[huge] - np.log(np.longdouble(order) * (order - 1.0))).astype(float)
    near |= huge
    w = v[~near].astype(np.longdouble)
    power, excess = np.longdouble(power), np.longdouble(order) - 1
    if excess == 0:  # power is 1 or 0
        value = np.exp(w) * w - np.expm1(w) if power == 1 else np.expm1(w) - w
    elif power > 1:
        value = (np.exp(w) * np.expm1(excess * w) - excess * np.expm1(w)) / excess / (1 + excess)
    else:
        value = (np.expm1(-excess * w) + excess * np.expm1(w)) / excess / (1 + excess)
    out[~near] = np.log(value).astype(float)
    return out


def step_order(rate, sigma, order, direction):
    h = min(1.0, sigma) / 8.0
    count = int((order / sigma + 42.0) / h) + 1
    x = h * np.arange(-count, count + 1)
    ratio = (2.0 * x * sigma - 1.0) / (2.0 * sigma**2)
    tilt = np.expm1(ratio.astype(np.longdouble)) * np.longdouble(rate)
    v = np.log1p(tilt)
    far = tilt < -0.5
    v[far] = np.logaddexp(np.log1p(-np.longdouble(rate)), np.log(np.longdouble(rate)) + ratio[far])
    with np.errstate(over="ignore"):
        u = tilt.astype(float)
    power = order if direction == ADD else 1.0 - order
    logs = remainder_log(power, order, u, v) - x * x / 2.0
    mean = float(logsumexp(logs)) + np.log(h) - np.log(2.0 * np.pi) / 2.0
    if order == 1.0:
        return np.exp(mean)
    return np.logaddexp(0.0, mean + np.log(order * (order - 1.0))) / (order - 1.0)


def divergence(rate, sigma, orders, direction=ADD):
    orders = check_orders(orders)
    check_rate(rate)
    check_sigma(sigma)
    check_direction(direction)
    if rate == 0.0:
        return 0.0 * orders
    if sigma == 0.0:
        return (np.inf if direction == ADD or rate == 1.0 else -np.log1p(-rate)) + 0.0 * orders
    if rate == 1.0:
        return orders / (2.0 * float(sigma) ** 2)
    return np.array([step_order(float(rate), float(sigma), order, direction) for order in orders])


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
