"""Like the text books, with arctangents; the time by Kepler's equation in universal variables from the pericentre."""

import math
from decimal import Decimal, localcontext

import numpy as np

from orrery.angles import wrapped
from orrery.kepler.stumpff import series
from orrery.orbits.limits import CIRCULAR, FLAT
from orrery.orbits.record import Elements


def elements(mu, x, v):
    with localcontext() as context:
        context.prec = 50
        m, p, w = Decimal(float(mu)), [Decimal(float(each)) for each in x], [Decimal(float(each)) for each in v]
        h = [p[1] * w[2] - p[2] * w[1], p[2] * w[0] - p[0] * w[2], p[0] * w[1] - p[1] * w[0]]
        square = sum(each * each for each in h)
        spin = np.cross(np.array(x, float), np.array(v, float))
        if not spin.any():
            raise ValueError("a straight line")
        size = square.sqrt()
        r, eta = sum(each * each for each in p).sqrt(), sum(a * b for a, b in zip(p, w))
        a, b = square / (m * r) - 1, size * eta / (m * r)
        e = (a * a + b * b).sqrt()
        q = square / (m * (1 + e))
        low = (h[0] ** 2 + h[1] ** 2).sqrt()
        inc = math.atan2(float(low), float(h[2]))
        if low / size < Decimal(FLAT):
            node, one, two = 0.0, [Decimal(1), Decimal(0), Decimal(0)], [Decimal(0), Decimal(1).copy_sign(h[2]), Decimal(0)]
        else:
            node = wrapped(math.atan2(float(h[0]), float(-h[1])))
            one = [-h[1] / low, h[0] / low, Decimal(0)]
            n = [each / size for each in h]
            two = [n[1] * one[2] - n[2] * one[1], n[2] * one[0] - n[0] * one[2], n[0] * one[1] - n[1] * one[0]]
        u = math.atan2(float(sum(s * t for s, t in zip(p, two))), float(sum(s * t for s, t in zip(p, one))))
        if e < Decimal(CIRCULAR):
            return Elements(float(q), float(e), inc, node, 0.0, float(Decimal(u) * size**3 / m**2))
        beta = m * (1 - e) / q
        # sin(nu / 2) and cos(nu / 2) without differences
        half = math.atan2(float(b), float(a)) / 2.0
        root = math.sqrt(abs(float(beta)))
        T = math.tan(half) * math.sqrt(float(q / (m * (1 + e))))
        s = root * T
        if abs(s) < 1e-4:
            X = 2.0 * T * (1.0 - float(beta) * T * T / 3.0)
        elif beta > 0:
            X = 2.0 * math.atan(s) / root
        else:
            X = 2.0 * math.atanh(s) / root
        X = Decimal(X)
        c3 = series(beta * X * X, 4)[3]
        return Elements(float(q), float(e), inc, node, wrapped(u - 2.0 * half), float(q * X + m * e * X**3 * c3))


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
