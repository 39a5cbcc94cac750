"""Tables from all settings at once."""

import math
from fractions import Fraction

import numpy as np
from sgm import convert


def table(rows, orders, kernel):
    kinds = {(row.lot / row.size, row.noise) for row in rows}
    curves = {pair: np.asarray(kernel(*pair, orders)) for pair in sorted(kinds)}
    lines = []
    for row in rows:
        steps = math.ceil(Fraction(row.epochs * row.size, row.lot))
        spent = convert.epsilon(orders, steps * curves[row.lot / row.size, row.noise], row.delta).epsilon
        if spent == math.inf:
            lines.append("inf")
        else:
            cents = math.ceil(Fraction(spent) * 100)
            lines.append(f"{cents // 100}.{cents % 100:02d}")
    return lines


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
