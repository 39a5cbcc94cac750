"""Gauss-Legendre panels over the noise."""

import numpy as np
from sgm import checks
from sgm.directions import ADD, check_direction

X, W = np.polynomial.legendre.leggauss(16)
T, S = (X + 1.0) / 2.0, W / 2.0


def plain(a, v, add):
    """log of the remainder where nothing cancels, by the sign of v."""
    b = a - 1.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        up = v > 0.0
        r = b * v if b else v
        if add and b:
            # e^v (e^{bv} - 1) / b - (e^v - 1)
            high = a * v - np.log(b) + np.log1p(-np.exp(-np.abs(r)) - b * np.exp(-np.abs(r)) * -np.expm1(-np.abs(v)))
            low = np.log(np.exp(v) * np.expm1(np.minimum(r, 0.0)) / b - np.expm1(np.minimum(v, 0.0)))
            middle = np.log(np.exp(v) * np.expm1(np.minimum(r, 50.0)) / b - np.expm1(v))
            out = np.where(up, np.where((r > 1.0) & (v > 1.0), high, middle), low)
        elif add:
            out = np.where(
                up, v + np.log(v - 1.0 + np.exp(-np.abs(v))), np.log(np.exp(v) * v - np.expm1(np.minimum(v, 0)))
            )
        elif b:
            # (e^v - 1) + (e^{-bv} - 1) / b
            high = v + np.log(-np.expm1(-np.abs(v)) + np.exp(-np.abs(v)) * np.expm1(-np.abs(r)) / b)
            low = np.abs(r) - np.log(b) + np.log(-np.expm1(-np.abs(r)) - b * np.exp(-np.abs(r)) * -np.expm1(-np.abs(v)))
            out = np.where(up, high, low)
        else:
            out = np.where(
                up, v + np.log(1.0 - (1.0 + v) * np.exp(-np.abs(v))), np.log(np.expm1(np.minimum(v, 0.0)) - v)
            )
    return out - np.log(a)


def remainder(a, u, v, add):
    """log of ((1 + u)^g - 1 - g u) / (g (g - 1)), g = a or 1 - a."""
    g = a if add else 1.0 - a
    out = plain(a, v, add)
    near = np.abs(u) * a < 0.5
    inner = sum(s * (1.0 - t) * np.exp((g - 2.0) * np.log1p(t * u[near])) for t, s in zip(T, S, strict=True))
    with np.errstate(divide="ignore"):
        out[near] = 2.0 * np.log(np.abs(u[near])) + np.log(inner)
    return out


def one(q, s, a, add):
    """One order."""
    width = 0.7 * min(1.0, s)
    first, last = -45.0 - a / s, 45.0 + a / s
    left = first + width * np.arange(int((last - first) / width) + 2)
    x = (left[:, None] + width * T).ravel()
    weight = np.tile(np.log(width * S), len(left))
    lr = x / s - 0.5 / s**2
    u = q * np.expm1(np.minimum(lr, 300.0))
    direct = (lr <= 300.0) & (u > -0.9)
    v = np.where(direct, np.log1p(np.where(direct, u, 0.0)), np.logaddexp(np.log1p(-q), np.log(q) + lr))
    logs = remainder(a, u, v, add) - x**2 / 2.0 - np.log(2.0 * np.pi) / 2.0 + weight
    top = logs.max()
    log_mean = top + np.log(np.sum(np.exp(logs - top)))
    if a == 1.0:
        return np.exp(log_mean)
    grown = log_mean + np.log(a * (a - 1.0))
    return (np.log1p(np.exp(grown)) if grown < 30.0 else grown + np.log1p(np.exp(-grown))) / (a - 1.0)


def divergence(rate, sigma, orders, direction=ADD):
    orders = checks.check_orders(orders)
    checks.check_rate(rate)
    checks.check_sigma(sigma)
    check_direction(direction)
    out = np.empty(len(orders))
    for i, a in enumerate(orders):
        if rate == 0:
            out[i] = 0.0
        elif sigma == 0:
            out[i] = np.log(1.0 / (1.0 - rate)) if direction != ADD and rate < 1 else np.inf
        elif rate == 1:
            out[i] = a / 2.0 / sigma / sigma
        else:
            out[i] = one(float(rate), float(sigma), float(a), direction == ADD)
    return out


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
