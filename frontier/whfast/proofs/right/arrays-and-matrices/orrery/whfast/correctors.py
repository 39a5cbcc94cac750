"""Fractions."""

from fractions import Fraction
from math import factorial, sqrt

SQUARE = Fraction(7, 40)


def _wanted(count):
    sinh = [Fraction(1, factorial(2 * k + 1) * 4**k) for k in range(count + 1)]
    inverse = [Fraction(1)]
    for k in range(1, count + 1):
        inverse.append(-sum(sinh[j] * inverse[k - j] for j in range(1, k + 1)))
    return [-each for each in inverse[1:]]


def stages(order):
    if order == 0:
        return ()
    if order not in (3, 5, 7, 11):
        raise ValueError(f"unknown order {order}")
    s = (order - 1) // 2
    # unknowns are alpha b_i
    system = [[2 * Fraction(i) ** (2 * k + 1) * SQUARE**k / factorial(2 * k + 1) for i in range(1, s + 1)] for k in range(s)]
    right = _wanted(s)
    for c in range(s):
        pivot = system[c][c]
        system[c], right[c] = [each / pivot for each in system[c]], right[c] / pivot
        for row in range(s):
            if row != c:
                factor = system[row][c]
                system[row] = [t - factor * u for t, u in zip(system[row], system[c])]
                right[row] -= factor * right[c]
    alpha = sqrt(7.0 / 40.0)
    return tuple((alpha * (i + 1), float(right[i]) / alpha) for i in range(s))


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
