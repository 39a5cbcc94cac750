"""By quartering the argument, with c_n of the half angle, where it is small enough; closed forms far away."""

import cmath
import math


def stumpff(z):
    z = float(z)
    if abs(z) <= 9.0:
        c = [0.0] * 6
        for n in (5, 4):
            s, j = 0.0, 22
            while j >= 0:
                s = s * -z + 1.0 / math.factorial(n + 2 * j)
                j -= 1
            c[n] = s
        for n in (3, 2, 1, 0):
            c[n] = 1.0 / math.factorial(n) - z * c[n + 2]
        if z > 0.0:
            s = math.sqrt(z)
            c[0], c[1] = math.cos(s), math.sin(s) / s
        return tuple(c)
    s = cmath.sqrt(z)
    c = [cmath.cos(s).real, (cmath.sin(s) / s).real]
    for n in range(4):
        c.append((1.0 / math.factorial(n) - c[n]) / z)
    return tuple(c)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
