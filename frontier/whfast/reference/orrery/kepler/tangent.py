"""The derivative of the motion on a Kepler orbit."""

import math

import numpy as np

from .drift import solve


def tangent(mu, x, v, dt, dx, dv):
    """How small changes of the start change the end of a Kepler arc, row by row."""
    mu, x, v, dx, dv = (np.asarray(each, dtype=np.float64) for each in (mu, x, v, dx, dv))
    new_x, new_v = dx + dt * dv, dv.copy()
    if dt == 0.0:
        return new_x, new_v
    for row in np.flatnonzero(mu):
        new_x[row], new_v[row] = one(float(mu[row]), x[row], v[row], dt, dx[row], dv[row])
    return new_x, new_v


def one(mu, x, v, dt, dx, dv):
    """For one body."""
    r = math.hypot(*x)
    if r == 0.0:
        raise ValueError("a body is at the centre of its orbit")
    eta, beta = float(x @ v), float(2.0 * mu / r - v @ v)
    arc = solve(mu, r, eta, beta, dt)
    g = arc.g
    there = r * g[0] + eta * g[1] + mu * g[2]
    d_r, d_eta = float(x @ dx) / r, float(dx @ v + x @ dv)
    d_beta = -2.0 * mu * d_r / r**2 - 2.0 * float(v @ dv)
    # whole periods were left out, and a period depends on the energy
    d_rest = 3.0 * math.pi * mu * arc.turns * d_beta / beta**2.5 if arc.turns else 0.0
    by_beta = [0.5 * (order * g[order + 2] - arc.anomaly * g[order + 1]) for order in range(4)]
    d_anomaly = (
        d_rest - d_r * g[1] - d_eta * g[2] - d_beta * (r * by_beta[1] + eta * by_beta[2] + mu * by_beta[3])
    ) / there
    before = (-beta * g[1], g[0], g[1], g[2])
    d_g = [before[order] * d_anomaly + by_beta[order] * d_beta for order in range(4)]
    d_there = d_r * g[0] + d_eta * g[1] + r * d_g[0] + eta * d_g[1] + mu * d_g[2]
    f, fdot = 1.0 - mu * g[2] / r, -mu * g[1] / (r * there)
    at, gdot = r * g[1] + eta * g[2], 1.0 - mu * g[2] / there
    d_f = -mu / r * (d_g[2] - g[2] * d_r / r)
    d_at = d_rest - mu * d_g[3]
    d_fdot = -mu / (r * there) * (d_g[1] - g[1] * (d_r / r + d_there / there))
    d_gdot = -mu / there * (d_g[2] - g[2] * d_there / there)
    return d_f * x + f * dx + d_at * v + at * dv, d_fdot * x + fdot * dx + d_gdot * v + gdot * dv


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
