"""A difference quotient with sixty digits."""

from decimal import Decimal, localcontext

import numpy as np

from orrery.kepler.drift import move


def tangent(mu, x, v, dt, dx, dv):
    mu, x, v, dx, dv = (np.array(each, float) for each in (mu, x, v, dx, dv))
    new_x, new_v = dx + dt * dv, dv + 0.0
    for row in range(len(mu)):
        if mu[row] == 0.0 or dt == 0.0:
            continue
        if not x[row].any():
            raise ValueError("at the centre")
        with localcontext() as context:
            context.prec = 60
            h = Decimal(10) ** -18 / Decimal(max(1.0, float(np.abs(dx[row]).max() + np.abs(dv[row]).max())))
            ends = []
            for s in (1, -1):
                p, w = (
                    [Decimal(a) + s * h * Decimal(b) for a, b in zip(one.tolist(), two.tolist())]
                    for one, two in ((x[row], dx[row]), (v[row], dv[row]))
                )
                a, b = move(Decimal(float(mu[row])), p, w, Decimal(float(dt)))
                ends.append([i + j for i, j in zip([*p, *w], [*a, *b])])
            found = [float((i - j) / (2 * h)) for i, j in zip(*ends)]
        new_x[row], new_v[row] = found[:3], found[3:]
    return new_x, new_v


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
