"""Motion on a Kepler orbit, as the change of position and velocity."""

import math
from dataclasses import dataclass

import numpy as np

from .stumpff import stumpff


@dataclass(frozen=True)
class Arc:
    """The solution of Kepler's equation for one body."""

    anomaly: float  # X, of the rest of the step
    g: tuple  # G_0, ..., G_5 at X
    rest: float  # the step without whole periods
    turns: int  # number of whole periods that were left out


def functions(beta: float, anomaly: float) -> tuple:
    """G_0, ..., G_5."""
    return tuple(c * anomaly**order for order, c in enumerate(stumpff(beta * anomaly**2)))


def solve(mu: float, r: float, eta: float, beta: float, dt: float) -> Arc:
    """Kepler's equation in universal variables; its left side increases with X, so that a bracket closes on the root."""
    turns, rest = 0, dt
    if beta > 0.0:
        period = 2.0 * math.pi * mu / beta**1.5
        turns = round(dt / period)
        rest = math.remainder(dt, period)
    low, high = bracket(mu, r, eta, beta, rest)
    anomaly = min(max(rest / r, low), high)
    for _ in range(300):
        g = functions(beta, anomaly)
        lack = rest - (r * g[1] + eta * g[2] + mu * g[3])
        low, high = (anomaly, high) if lack > 0.0 else (low, anomaly)
        following = anomaly + lack / (r * g[0] + eta * g[1] + mu * g[2])
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - anomaly) <= 1e-16 * abs(anomaly) or lack == 0.0:
            break
        anomaly = following
    return Arc(anomaly=anomaly, g=functions(beta, anomaly), rest=rest, turns=turns)


def bracket(mu: float, r: float, eta: float, beta: float, dt: float) -> tuple[float, float]:
    """Two values of X with the root between them."""
    side = math.copysign(1.0, dt)
    if beta > 0.0:
        end = side * 2.0 * math.pi / math.sqrt(beta)
    else:
        # not farther than the exponentials are tame
        end = side * min(abs(dt) / r, 1.0 / math.sqrt(max(-beta, 1e-300)))
        while True:
            g = functions(beta, end)
            if side * (r * g[1] + eta * g[2] + mu * g[3] - dt) >= 0.0:
                break
            end *= 2.0
    return (0.0, end) if side > 0.0 else (end, 0.0)


def increments(mu, x, v, dt):
    """Change of positions and velocities, row by row; without a centre (mu = 0), a straight line."""
    mu, x, v = np.asarray(mu, dtype=np.float64), np.asarray(x, dtype=np.float64), np.asarray(v, dtype=np.float64)
    dx, dv = dt * v, np.zeros_like(v)
    if dt == 0.0:
        return dx, dv
    for row in np.flatnonzero(mu):
        r = math.hypot(*x[row])
        if r == 0.0:
            raise ValueError(f"row {row} is at the centre of its orbit")
        eta, beta = float(x[row] @ v[row]), float(2.0 * mu[row] / r - v[row] @ v[row])
        g = solve(float(mu[row]), r, eta, beta, dt).g
        dx[row] = -mu[row] * g[2] / r * x[row] + (r * g[1] + eta * g[2]) * v[row]
        there = math.hypot(*(x[row] + dx[row]))
        dv[row] = -mu[row] / there * (g[1] / r * x[row] + g[2] * v[row])
    return dx, dv


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
