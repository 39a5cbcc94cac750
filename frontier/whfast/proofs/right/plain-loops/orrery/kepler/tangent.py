"""By numbers that carry their derivative."""

import math

import numpy as np

from orrery.kepler.drift import anomaly, values


class Dual:
    def __init__(self, a, d=0.0):
        self.a, self.d = a, d

    def __add__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.a + o.a, self.d + o.d)

    def __mul__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.a * o.a, self.a * o.d + self.d * o.a)

    def __truediv__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        q = self.a / o.a
        return Dual(q, (self.d - q * o.d) / o.a)

    def __sub__(self, o):
        return self + (o if isinstance(o, Dual) else Dual(o)) * -1.0

    def __pow__(self, k):
        return Dual(self.a**k, k * self.a ** (k - 1) * self.d)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, o):
        return Dual(o) - self


def inner(a, b):
    total = Dual(0.0)
    for s, t in zip(a, b):
        total = total + s * t
    return total


def tangent(mu, x, v, dt, dx, dv):
    mu, x, v, dx, dv = (np.array(each, float) for each in (mu, x, v, dx, dv))
    new_x, new_v = [], []
    for m, p, w, dp, dw in zip(mu.tolist(), x.tolist(), v.tolist(), dx.tolist(), dv.tolist()):
        if m == 0.0 or dt == 0.0:
            new_x.append([a + dt * b for a, b in zip(dp, dw)])
            new_v.append(dw)
            continue
        P, W = [Dual(a, d) for a, d in zip(p, dp)], [Dual(a, d) for a, d in zip(w, dw)]
        square = inner(P, P)
        if square.a == 0.0:
            raise ValueError("no orbit through the centre")
        r, eta = square**0.5, inner(P, W)
        beta = 2.0 * m * r**-1.0 - inner(W, W)
        X0, turns, rest = anomaly(r.a, eta.a, m, beta.a, dt)
        time = Dual(rest)
        if turns:
            time.d = -turns * (2.0 * math.pi * m * beta**-1.5).d
        g, _, slope = values(r.a, eta.a, m, beta.a, X0)

        def G(n, X_d):
            by_beta = 0.5 * (n * g[n + 2] - X0 * g[n + 1])
            by_X = g[n - 1] if n else -beta.a * g[1]
            return Dual(g[n], by_beta * beta.d + by_X * X_d)

        miss = (r * G(1, 0.0) + eta * G(2, 0.0) + m * G(3, 0.0) - time).d
        d = -miss / slope
        g0, g1, g2, g3 = (G(n, d) for n in range(4))
        end = r * g0 + eta * g1 + m * g2
        f, at, fd, gd = 1.0 - m * g2 / r, time - m * g3, -1.0 * m * g1 / (r * end), 1.0 - m * g2 / end
        new_x.append([(f * a + at * b).d for a, b in zip(P, W)])
        new_v.append([(fd * a + gd * b).d for a, b in zip(P, W)])
    return np.array(new_x).reshape(-1, 3), np.array(new_v).reshape(-1, 3)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
