"""Steps and noise from the room that each order leaves."""

import math

import numpy as np
from scipy.optimize import brentq
from sgm.checks import check_delta, check_orders
from sgm.limits import LARGEST_NOISE, SMALLEST_NOISE


def proving(orders, delta):
    """Which orders prove anything, and what they add to epsilon."""
    orders = check_orders(orders)
    check_delta(delta)
    above = orders > 1.0
    return above, -np.log(delta) / (orders[above] - 1.0)


def largest_steps(orders, values, delta, target):
    above, rest = proving(orders, delta)
    values = np.asarray(values, dtype=np.float64)[above]
    best = 0
    for value, other in zip(values.tolist(), rest.tolist(), strict=True):
        if other > target or math.isinf(value):
            continue
        if value == 0.0:
            return None
        near = round((target - other) / value)
        fitting = [count for count in range(max(near - 3, 0), near + 4) if count * value + other <= target]
        best = max([best, *fitting])
    return best


def smallest_noise(curve, orders, delta, target):
    above, rest = proving(orders, delta)
    results = {}

    def margin(place):
        """At least 0 if the noise is enough; close to a line in the log of the noise."""
        if place not in results:
            noise = math.exp(place)
            values = np.asarray(curve(noise), dtype=np.float64)[above]
            with np.errstate(divide="ignore", invalid="ignore"):
                factors = np.where(rest < target, (target - rest) / values, 0.0)
                results[place] = (
                    float(np.clip(np.log(np.nanmax(factors)), -60.0, 60.0)),
                    bool(np.any(values + rest <= target)),
                    noise,
                )
        return results[place][0]

    def ok(place):
        margin(place)
        return results[place][1]

    low, high = math.log(SMALLEST_NOISE), math.log(LARGEST_NOISE)
    if ok(low):
        return SMALLEST_NOISE
    if not ok(high):
        raise ValueError("the target is out of reach")
    while margin(low) < -20.0 and high - low > 1e-11:
        middle = (low + high) / 2.0
        low, high = (low, middle) if ok(middle) else (middle, high)
    if high - low > 1e-11 and margin(low) * margin(high) < 0.0:
        root = brentq(margin, low, high, xtol=2e-12, rtol=1e-15)
        for place in (root - 2e-12, root + 2e-12, root + 5e-12):
            if low < place < high and ok(place):
                high = place
            elif low < place < high:
                low = place
    while high - low > 9.5e-12:
        middle = (low + high) / 2.0
        low, high = (low, middle) if ok(middle) else (middle, high)
    return results[high][2]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
