"""Laguerre's method between bounds, one body after another, in plain numbers."""

import math

import numpy as np

from orrery.kepler.stumpff import stumpff


def values(r, eta, mu, beta, X):
    c = stumpff(beta * X * X)
    g = [c[n] * X**n for n in range(6)]
    return g, r * g[1] + eta * g[2] + mu * g[3], r * g[0] + eta * g[1] + mu * g[2]


def anomaly(r, eta, mu, beta, dt):
    """X, periods left out, remaining time."""
    turns = 0
    if beta > 0.0:
        period = 2.0 * math.pi * mu * beta**-1.5
        turns = int(round(dt / period))
        dt = math.fmod(dt, period)
        if dt > period / 2:
            dt -= period
        elif dt < -period / 2:
            dt += period
    if dt == 0.0:
        return 0.0, turns, dt
    s = 1.0 if dt > 0 else -1.0
    inner, outer = 0.0, min(abs(dt) / r, 1.0 / math.sqrt(abs(beta)) if beta else math.inf)
    while s * values(r, eta, mu, beta, s * outer)[1] < abs(dt):
        inner, outer = outer, 2.0 * outer
    X = 0.5 * (inner + outer)
    for _ in range(300):
        g, t, slope = values(r, eta, mu, beta, s * X)
        f = s * t - abs(dt)
        if f < 0.0:
            inner = X
        elif f > 0.0:
            outer = X
        else:
            break
        curve = s * (eta * g[0] + (mu - beta * r) * g[1])
        root = math.sqrt(abs(16.0 * slope * slope - 20.0 * f * curve))
        step = -5.0 * f / (slope + root)
        new = X + step
        if not inner <= new <= outer:
            new = 0.5 * (inner + outer)
        if abs(new - X) <= 1.2e-16 * X or new in (inner, outer) and abs(step) < 1e-15 * X:
            X = new
            break
        X = new
    return s * X, turns, dt


def increments(mu, x, v, dt):
    rows_x, rows_v = [], []
    for m, p, w in zip(np.array(mu, float), np.array(x, float), np.array(v, float)):
        m, p, w = float(m), p.tolist(), w.tolist()
        if m == 0.0 or dt == 0.0:
            rows_x.append([dt * each for each in w])
            rows_v.append([0.0] * 3)
            continue
        r = math.sqrt(math.fsum(each * each for each in p))
        if r == 0.0:
            raise ValueError("no orbit through the centre")
        eta = math.fsum(a * b for a, b in zip(p, w))
        beta = 2.0 * m / r - math.fsum(each * each for each in w)
        X, _, rest = anomaly(r, eta, m, beta, dt)
        g, _, _ = values(r, eta, m, beta, X)
        f1, at = -m * g[2] / r, r * g[1] + eta * g[2]
        move = [f1 * a + at * b for a, b in zip(p, w)]
        far = math.sqrt(sum((a + b) ** 2 for a, b in zip(p, move)))
        rows_x.append(move)
        rows_v.append([-m * g[1] / (r * far) * a - m * g[2] / far * b for a, b in zip(p, w)])
    return np.array(rows_x).reshape(-1, 3), np.array(rows_v).reshape(-1, 3)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
