"""Stumpff functions: closed forms with half angles far from 0, power series near it."""

from math import cos, cosh, factorial, sin, sinh, sqrt


def stumpff(z):
    z = float(z)
    if -1.5 < z < 6.0:
        found = []
        for k in range(6):
            term, parts, n = 1.0 / factorial(k), [], 0
            while n < 30:
                parts.append(term)
                n += 1
                term *= -z / ((2 * n + k) * (2 * n + k - 1))
            found.append(sum(reversed(parts)))
        return tuple(found)
    if z > 0.0:
        s = sqrt(z)
        c0, c1, c2 = cos(s), sin(s) / s, 2.0 * sin(0.5 * s) ** 2 / z
        c3 = (s - sin(s)) / s / z
    else:
        s = sqrt(-z)
        c0, c1, c2 = cosh(s), sinh(s) / s, -2.0 * sinh(0.5 * s) ** 2 / z
        c3 = (s - sinh(s)) / s / z
    return (c0, c1, c2, c3, (0.5 - c2) / z, (1.0 / 6.0 - c3) / z)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
