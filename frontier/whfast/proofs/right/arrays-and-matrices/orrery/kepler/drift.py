"""All rows at once: bisection until Newton's method is safe, on arrays."""

import math

import numpy as np

from .stumpff import stumpff


def gs(beta, X):
    table = np.array([stumpff(z) for z in beta * X * X]).reshape(len(X), 6)
    return table * X[:, None] ** np.arange(6)


def prepare(mu, x, v, dt):
    """Universal anomalies of rows with a centre; also the time without periods and the number of periods."""
    r = np.sqrt(np.einsum("ij,ij->i", x, x))
    if np.any(r == 0.0):
        raise ValueError("a body is at the centre of its orbit")
    eta = np.einsum("ij,ij->i", x, v)
    beta = 2.0 * mu / r - np.einsum("ij,ij->i", v, v)
    count = np.zeros(len(r))
    rest = np.full(len(r), float(dt))
    bound = np.minimum(abs(dt) / r, 1.0 / np.sqrt(np.maximum(-beta, 1e-300)))
    closed = beta > 0.0
    if closed.any():
        P = 2.0 * np.pi * mu[closed] / (beta[closed] * np.sqrt(beta[closed]))
        count[closed] = np.rint(dt / P)
        rest[closed] = [math.remainder(dt, p) for p in P]
        bound[closed] = 2.1 * np.pi / np.sqrt(beta[closed])
    sign = np.where(rest < 0.0, -1.0, 1.0)

    def late(X):
        g = gs(beta, X)
        return r * g[:, 1] + eta * g[:, 2] + mu * g[:, 3] - rest, g

    for _ in range(200):
        short = sign * late(sign * bound)[0] < 0.0
        if not short.any():
            break
        bound = np.where(short, 2.0 * bound, bound)
    low, high = np.where(sign > 0, 0.0, -bound), np.where(sign > 0, bound, 0.0)
    X = np.clip(rest / r, low, high)
    for _ in range(250):
        f, g = late(X)
        low, high = np.where(f <= 0.0, X, low), np.where(f >= 0.0, X, high)
        step = -f / (r * g[:, 0] + eta * g[:, 1] + mu * g[:, 2])
        new = X + step
        new = np.where((new < low) | (new > high), 0.5 * (low + high), new)
        done = np.abs(new - X) <= 2e-16 * np.abs(X)
        X = new
        if done.all():
            break
    return r, eta, beta, X, gs(beta, X), rest, count


def increments(mu, x, v, dt):
    mu, x, v = (np.array(each, dtype=float) for each in (mu, x, v))
    dx, dv = dt * v, np.zeros(v.shape)
    rows = np.flatnonzero(mu != 0.0)
    if dt == 0.0 or not len(rows):
        return dx, dv
    m, p, w = mu[rows], x[rows], v[rows]
    r, eta, _, _, g, _, _ = prepare(m, p, w, dt)
    move = -(m * g[:, 2] / r)[:, None] * p + (r * g[:, 1] + eta * g[:, 2])[:, None] * w
    end = np.sqrt(((p + move) ** 2).sum(axis=1))
    dx[rows] = move
    dv[rows] = -(m * g[:, 1] / (r * end))[:, None] * p - (m * g[:, 2] / end)[:, None] * w
    return dx, dv


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
