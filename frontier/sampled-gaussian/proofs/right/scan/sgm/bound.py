"""The closed form of the paper."""

import numpy as np
from scipy.optimize import root_scalar
from sgm import checks


def gaps(rate, sigma, orders):
    with np.errstate(divide="ignore", invalid="ignore"):
        term = np.log1p(1.0 / (rate * (orders - 1.0)))
        right = (0.5 * (sigma * term) ** 2 - np.log(5.0) - 2.0 * np.log(sigma)) / (
            term + np.log(rate * orders) + 0.5 / sigma**2
        )
        return 0.5 * sigma**2 * term - 2.0 * np.log(sigma) - orders, right - orders


def curve(rate, sigma, orders):
    orders = checks.check_orders(orders)
    checks.check_rate(rate)
    checks.check_sigma(sigma)
    if rate > 0.2 or sigma < 4.0:
        return np.inf * orders
    first, second = gaps(rate, sigma, orders)
    return np.where((first >= 0.0) & (second >= 0.0) & (orders != 1.0), 2.0 * rate**2 * orders / sigma**2, np.inf)


def largest_order(rate, sigma):
    checks.check_rate(rate)
    checks.check_sigma(sigma)
    if rate > 0.2 or sigma < 4.0 or rate <= 0.0:
        return None

    def worst(log_excess):
        return float(min(gaps(rate, sigma, 1.0 + np.exp(log_excess))))

    return float(1.0 + np.exp(root_scalar(worst, bracket=(-20.0, 36.0), method="brentq", xtol=1e-13, rtol=1e-14).root))


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
