"""Tables."""

from decimal import ROUND_CEILING, Decimal

import numpy as np
from sgm import accountant, convert
from sgm.ledger.events import Event


def printed(value):
    """Two decimals, rounded up."""
    return str(Decimal(value).quantize(Decimal("0.01"), rounding=ROUND_CEILING)) if np.isfinite(value) else "inf"


def table(rows, orders, kernel):
    """The epsilon of each row, as it is printed."""
    curves, result = {}, []

    def remembered(rate, sigma, orders):
        if (rate, sigma) not in curves:
            curves[rate, sigma] = kernel(rate, sigma, orders)
        return curves[rate, sigma]

    for row in rows:
        steps = -(-row.epochs * row.size // row.lot)
        event = Event("sampled-gaussian", row.lot / row.size, row.noise, 1.0, steps)
        total = accountant.compose([event], orders, remembered)
        result.append(printed(convert.epsilon(orders, total, row.delta).epsilon))
    return result


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
