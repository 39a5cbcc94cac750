"""Steps by doubling and halving, noise by Chandrupatla's method."""

import numpy as np
from sgm.checks import check_delta, check_orders
from sgm.limits import LARGEST_NOISE, SMALLEST_NOISE


def least(orders, values, delta):
    above = orders > 1.0
    return np.min(values[above] - np.log(delta) / (orders[above] - 1.0), initial=np.inf)


def largest_steps(orders, values, delta, target):
    orders, values = check_orders(orders), np.asarray(values, dtype=float)
    check_delta(delta)
    orders, values = orders[np.isfinite(values)], values[np.isfinite(values)]

    def fits(steps):
        return least(orders, float(steps) * values, delta) <= target

    if not fits(1):
        return 0
    high = 2
    while fits(high):
        high *= 2
        if high > 1 << 900:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def smallest_noise(curve, orders, delta, target):
    orders = check_orders(orders)
    check_delta(delta)

    def at(noise):
        found = least(orders, np.asarray(curve(noise), dtype=float), delta)
        return np.clip(np.log(max(found, 1e-300)) - np.log(target), -50.0, 50.0) if found != target else 0.0

    a, b = np.log(SMALLEST_NOISE), np.log(LARGEST_NOISE)
    fa = at(SMALLEST_NOISE)
    if fa <= 0.0:
        return SMALLEST_NOISE
    fb = at(LARGEST_NOISE)
    if fb > 0.0:
        raise ValueError("no noise reaches the target")
    a, b, fa, fb = b, a, fb, fa
    low, high, answer = min(a, b), max(a, b), LARGEST_NOISE
    t = 0.5
    while high - low > 8e-12:
        x = a + t * (b - a)
        x = min(max(x, low + 2e-12), high - 2e-12)
        noise = float(np.exp(x))
        fx = at(noise)
        if fx <= 0.0:
            high, answer = x, noise
        else:
            low = x
        if (fx > 0.0) == (fa > 0.0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb) if fc != fb else 2.0
        if phi**2 < xi and (1.0 - phi) ** 2 < 1.0 - xi and fa != fb and fc not in (fa, fb):
            t = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        else:
            t = 0.5
        t = min(1.0, max(0.0, t))
    return answer


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
