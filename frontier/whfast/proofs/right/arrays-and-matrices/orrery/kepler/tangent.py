"""By one step of Newton's method in complex numbers (a derivative by a complex step)."""

import numpy as np

from .drift import prepare

TINY = 1e-60


def tangent(mu, x, v, dt, dx, dv):
    mu, x, v, dx, dv = (np.array(each, dtype=float) for each in (mu, x, v, dx, dv))
    out_x, out_v = dx + dt * dv, dv.copy()
    for row in np.flatnonzero(mu):
        if dt == 0.0:
            break
        scale = TINY
        m, p, w = mu[row], x[row] + 1j * scale * dx[row], v[row] + 1j * scale * dv[row]
        _, _, _, X0, g0, rest0, count = prepare(mu[row : row + 1], x[row : row + 1], v[row : row + 1], dt)
        r, eta = np.sqrt(p @ p), p @ w
        beta = 2.0 * m / r - w @ w
        rest = rest0[0] + 0j
        if count[0]:
            # minus the change of the periods that are left out
            period = 2.0 * np.pi * m / (beta * np.sqrt(beta))
            rest = rest - 1j * count[0] * period.imag

        # G_n is known at real arguments; its change follows from derivatives
        X, g = X0[0], g0[0]
        by_beta = np.array([(n * g[n + 2] - X * g[n + 1]) / 2.0 for n in range(4)])
        G = g[:4] + 1j * beta.imag * by_beta
        G[0] = g[0] + 1j * beta.imag * by_beta[0]
        lack = rest - (r * G[1] + eta * G[2] + m * G[3])
        slope = (r * G[0] + eta * G[1] + m * G[2]).real
        turn = 1j * lack.imag / slope
        G = G + turn * np.array([-beta.real * g[1], g[0], g[1], g[2]])
        there = r * G[0] + eta * G[1] + m * G[2]
        f, at = 1.0 - m * G[2] / r, rest - m * G[3]
        fdot, gdot = -m * G[1] / (r * there), 1.0 - m * G[2] / there
        out_x[row] = (f * p + at * w).imag / scale
        out_v[row] = (fdot * p + gdot * w).imag / scale
    return out_x, out_v


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
