"""With fifty digits: there is no rounding to think of."""

import math
from decimal import Decimal, localcontext

import numpy as np

from orrery.kepler.stumpff import series, stumpff

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706")


def rough(r, eta, mu, beta, X):
    c = stumpff_of(beta * X * X)
    return r * X * c[1] + eta * X * X * c[2] + mu * X**3 * c[3]


def stumpff_of(z):
    if abs(z) < 2.0:
        return [sum((-z) ** j / math.factorial(2 * j + n) for j in range(14)) for n in range(4)]
    s = math.sqrt(abs(z))
    c = [math.cos(s), math.sin(s) / s] if z > 0 else [math.cosh(min(s, 400.0)), math.sinh(min(s, 400.0)) / s]
    return [*c, (1.0 - c[0]) / z, (1.0 - c[1]) / z]


def move(mu, x, v, dt):
    """Changes in decimals."""
    with localcontext() as context:
        context.prec = 60
        r = sum(each * each for each in x).sqrt()
        if r == 0:
            raise ValueError("at the centre")
        eta, beta = sum(a * b for a, b in zip(x, v)), 2 * mu / r - sum(each * each for each in v)
        if beta > 0:
            P = 2 * PI * mu / (beta * beta.sqrt())
            dt -= P * (dt / P).to_integral_value()
            end = float(2 * PI / beta.sqrt()) * 1.01
        else:
            end = min(float(abs(dt) / r), float(-beta) ** -0.5 if beta else math.inf)
        numbers = float(r), float(eta), float(mu), float(beta)
        sign = 1.0 if dt >= 0 else -1.0
        while sign * rough(*numbers, sign * end) < abs(float(dt)):
            end *= 2.0
        low, high = 0.0, end
        for _ in range(80):
            middle = 0.5 * (low + high)
            if sign * rough(*numbers, sign * middle) < abs(float(dt)):
                low = middle
            else:
                high = middle
        X = Decimal(sign * 0.5 * (low + high))
        for _ in range(60):
            c = series(beta * X * X, 4)
            step = (dt - (r * X * c[1] + eta * X * X * c[2] + mu * X**3 * c[3])) / (r * c[0] + eta * X * c[1] + mu * X * X * c[2])
            X += step
            if abs(step) <= abs(X).scaleb(-24):
                break
        c = series(beta * X * X, 4)
        there = r * c[0] + eta * X * c[1] + mu * X * X * c[2]
        f, g = -mu * X * X * c[2] / r, dt - mu * X**3 * c[3]
        fd, gd = -mu * X * c[1] / (r * there), -mu * X * X * c[2] / there
        return [f * a + g * b for a, b in zip(x, v)], [fd * a + gd * b for a, b in zip(x, v)]


def increments(mu, x, v, dt):
    mu, x, v = np.array(mu, float), np.array(x, float), np.array(v, float)
    dx, dv = dt * v, 0.0 * v
    for row in range(len(mu)):
        if mu[row] and dt:
            change = move(
                Decimal(float(mu[row])),
                [Decimal(each) for each in x[row].tolist()],
                [Decimal(each) for each in v[row].tolist()],
                Decimal(float(dt)),
            )
            dx[row], dv[row] = ([float(each) for each in part] for part in change)
    return dx, dv


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
