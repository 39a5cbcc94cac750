"""With fifty digits."""

from decimal import Decimal, localcontext
from math import factorial


def series(z, count):
    """c_0, ..., in decimals."""
    found = []
    for n in range(count):
        term, total, j = Decimal(1) / factorial(n), Decimal(0), 0
        while total == 0 or abs(term) > abs(total).scaleb(-60) or j < 4:
            total += term
            j += 1
            term = -term * z / ((2 * j + n) * (2 * j + n - 1))
            if j > 4000:
                break
        found.append(total)
    return found


def stumpff(z):
    with localcontext() as context:
        context.prec = 60
        z = Decimal(float(z))
        if z < -100:
            s = (-z).sqrt()
            up, down = s.exp() / 2, (-s).exp() / 2
            c = [up + down, (up - down) / s]
            for n in range(4):
                c.append((c[n] - Decimal(1) / factorial(n)) / -z)
        elif z > 60:
            context.prec = 160
            c = series(z, 2)
            for n in range(4):
                c.append((Decimal(1) / factorial(n) - c[n]) / z)
        else:
            c = series(z, 6)
        return tuple(float(each) for each in c)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
