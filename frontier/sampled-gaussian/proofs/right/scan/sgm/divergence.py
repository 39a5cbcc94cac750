"""Binomial sums for whole orders, trapezoids where the integrand matters for others."""

import math

import numpy as np
from sgm.checks import check_orders, check_rate, check_sigma
from sgm.directions import ADD, check_direction

NODE, WEIGHT = np.polynomial.legendre.leggauss(30)
NODE, WEIGHT = 0.5 * (NODE + 1.0), 0.5 * WEIGHT


def log_sum(logs):
    """log of a sum of exponentials."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(each - top) for each in logs))


def whole(q, s, n):
    """log(A - 1) for whole orders, with log of e^y - 1."""
    logs = []
    for k in range(2, n + 1):
        y = (k * k - k) / (2.0 * s * s)
        grown = y + math.log(-math.expm1(-y)) if y > 1e-3 else math.log(math.expm1(y))
        logs.append(math.log(math.comb(n, k)) + k * math.log(q) + (n - k) * math.log1p(-q) + grown)
    return log_sum(logs)


def integrand(x, q, s, a, add):
    """log of weight times second divided difference."""
    r = (x - 0.5 / s) / s
    u = q * np.expm1(np.minimum(r, 500.0))
    v = np.where(u > -0.5, np.log1p(np.maximum(u, -0.5)), np.logaddexp(np.log1p(-q), np.log(q) + r))
    v = np.where(r > 500.0, np.logaddexp(np.log1p(-q), np.log(q) + r), v)
    b = a - 1.0
    out = np.empty(len(x))
    near = np.abs(v) * a < 8.0
    c = v[near][:, None]
    power = a if add else -b
    inner = (np.exp(power * c * NODE) * np.expm1(c * (1.0 - NODE))) @ WEIGHT
    with np.errstate(divide="ignore"):
        out[near] = np.log(np.abs(v[near])) + np.log(np.abs(inner))
    w = v[~near]
    up, bw = w > 0.0, b * w
    m = np.abs(bw)
    safe = np.where(b * np.abs(w) < 1e-300, w, np.sign(w) * -np.expm1(-m) / (b or 1.0))
    e = np.exp(-np.abs(w))
    k = np.exp(-m)
    if add:  # e^v (e^{bv} - 1) / b - (e^v - 1)
        rising = w + m + np.log(np.where(up, safe - k * (1.0 - e), 1.0))
        falling = np.log(np.where(up, 1.0, (1.0 - e) + e * safe))
    else:  # (e^v - 1) - (1 - e^{-bv}) / b
        rising = w + np.log(np.where(up, (1.0 - e) - e * safe, 1.0))
        falling = m + np.log(np.where(up, 1.0, -safe - k * (1.0 - e)))
    out[~near] = np.where(up, rising, falling) - np.log(a)
    return out - x * x / 2.0


def single(q, s, a, add):
    edge, step = a / s + 40.0, 0.15 * min(1.0, s)
    grid = np.arange(-edge, edge, 0.5 * min(1.0, s))
    coarse = integrand(grid, q, s, a, add)
    matters = coarse > coarse.max() - 60.0
    places = np.flatnonzero(matters)
    low, high = grid[max(places[0] - 2, 0)], grid[min(places[-1] + 2, len(grid) - 1)]
    x = low + step * np.arange(int((high - low) / step) + 1)
    logs = integrand(x, q, s, a, add)
    mean = logs.max() + math.log(np.exp(logs - logs.max()).sum()) + math.log(step / math.sqrt(2.0 * math.pi))
    return math.exp(mean) if a == 1.0 else float(np.logaddexp(0.0, mean + math.log(a) + math.log(a - 1.0)) / (a - 1.0))


def divergence(rate, sigma, orders, direction=ADD):
    orders = check_orders(orders)
    check_rate(rate)
    check_sigma(sigma)
    check_direction(direction)
    rate, sigma, result = float(rate), float(sigma), []
    for a in orders.tolist():
        if rate == 0.0:
            result.append(0.0)
        elif sigma == 0.0:
            result.append(math.inf if direction == ADD or rate == 1.0 else -math.log1p(-rate))
        elif rate == 1.0:
            result.append(a / (2.0 * sigma * sigma))
        elif direction == ADD and 2.0 <= a <= 60.0 and a == int(a):
            result.append(float(np.logaddexp(0.0, whole(rate, sigma, int(a))) / (a - 1.0)))
        else:
            result.append(single(rate, sigma, a, direction == ADD))
    return np.array(result, dtype=np.float64)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
