"""Steps order by order, noise by Brent's method."""

import math

import numpy as np
from scipy.optimize import brentq
from sgm import convert
from sgm.checks import check_delta, check_orders
from sgm.limits import LARGEST_NOISE, SMALLEST_NOISE


def largest_steps(orders, values, delta, target):
    check_delta(delta)
    best = 0
    for order, value in zip(check_orders(orders).tolist(), map(float, values), strict=True):
        if order == 1.0 or value == math.inf:
            continue
        rest = -math.log(delta) / (order - 1.0)
        if rest > target:
            continue
        if value == 0.0:
            return None
        steps = int((target - rest) / value) + 2
        while steps > 0 and convert.epsilon([order], [steps * value], delta).epsilon > target:
            steps -= 1
        best = max(best, steps)
    return best


def smallest_noise(curve, orders, delta, target):
    orders = check_orders(orders)
    seen = {}

    def at(place):
        noise = math.exp(place)
        if place not in seen:
            found = convert.epsilon(orders, curve(noise), delta).epsilon
            seen[place] = found, noise
        found = seen[place][0]
        return math.log(found / target) if 0.0 < found < math.inf else (700.0 if found else -700.0)

    low, high = math.log(SMALLEST_NOISE), math.log(LARGEST_NOISE)
    if at(low) <= 0.0:
        return SMALLEST_NOISE
    if at(high) > 0.0:
        raise ValueError("no noise is enough")
    while not abs(at(low)) < 4.0 and high - low > 1e-3:
        middle = (low + high) / 2.0
        low, high = (low, middle) if at(middle) <= 0.0 else (middle, high)
    root = low if high - low < 4e-12 else brentq(at, low, high, xtol=1e-12, rtol=1e-15)
    for shift in (0.0, 3e-12, 6e-12, 9e-12):
        if at(root + shift) <= 0.0:
            root += shift
            break
    else:  # a jump: bisection
        low, high = max(p for p in seen if at(p) > 0.0), min(p for p in seen if at(p) <= 0.0)
        while high - low > 8e-12:
            middle = (low + high) / 2.0
            low, high = (low, middle) if at(middle) <= 0.0 else (middle, high)
        root = high
    return float(np.exp(root)) if seen[root][1] == np.exp(root) else seen[root][1]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
