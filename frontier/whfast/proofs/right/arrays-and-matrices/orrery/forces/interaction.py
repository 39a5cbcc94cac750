"""From the definition, in decimals of fifty digits."""

from decimal import Decimal, localcontext

import numpy as np


def kick(gm, x):
    gm, x = np.array(gm, dtype=float), np.array(x, dtype=float)
    with localcontext() as context:
        context.prec = 60
        m = [Decimal(each) for each in gm.tolist()]
        rows = [[Decimal(each) for each in row] for row in x.tolist()]
        count = len(m)
        M = [sum(m[: i + 1]) for i in range(count)]
        places, centre = [[Decimal(0)] * 3], [Decimal(0)] * 3  # seen from body 0
        for i in range(1, count):
            places.append([c + d for c, d in zip(centre, rows[i - 1])])
            centre = [c + m[i] / M[i] * d for c, d in zip(centre, rows[i - 1])]

        def law(d):
            length = sum(each * each for each in d).sqrt()
            return [each / length**3 for each in d]

        a = [[Decimal(0)] * 3 for _ in range(count)]
        for i in range(count):
            for j in range(count):
                if i != j:
                    pull = law([s - t for s, t in zip(places[i], places[j])])
                    a[i] = [s - m[j] * t for s, t in zip(a[i], pull)]
        found, mean = [], a[0]
        for i in range(1, count):
            kepler = law(rows[i - 1])
            found.append([s - t + M[i] * u for s, t, u in zip(a[i], mean, kepler)])
            mean = [(M[i - 1] * t + m[i] * s) / M[i] for s, t in zip(a[i], mean)]
        result = np.array([[float(each) for each in row] for row in found] + [[0.0] * 3])
    # what cancels to fifty digits is nothing
    for i in range(1, count):
        active = gm[i + 1 :].any() or (i > 1 and gm[1:i].any())
        if not active:
            result[i - 1] = 0.0
    return result


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
