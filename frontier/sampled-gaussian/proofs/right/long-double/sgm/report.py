"""Tables by a cache."""

from decimal import Decimal
from functools import cache

import numpy as np
from sgm.convert import epsilon


def table(rows, orders, kernel):
    @cache
    def one(rate, sigma):
        return np.array(kernel(rate, sigma, orders))

    def text(row):
        steps, part = divmod(row.epochs * row.size, row.lot)
        steps += 1 if part else 0
        value = epsilon(orders, steps * one(row.lot / row.size, row.noise), row.delta).epsilon
        return "inf" if np.isinf(value) else str(Decimal(value).quantize(Decimal("1.00"), rounding="ROUND_UP"))

    return [text(row) for row in rows]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
