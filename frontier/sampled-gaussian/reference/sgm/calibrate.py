"""Steps and noise for a given privacy."""

import numpy as np
from sgm import convert
from sgm.checks import check_delta, check_orders
from sgm.limits import LARGEST_NOISE, SMALLEST_NOISE

UNLIMITED = 1e300  # steps
TOLERANCE = 5e-12  # of the log of the noise
NEARLY_LINEAR = 8.0  # range of logs over which one is interpolated


def largest_steps(orders, values, delta, target):
    """The largest number of steps within a budget."""
    orders, values = check_orders(orders), np.asarray(values)

    def within(steps):
        with np.errstate(invalid="ignore", over="ignore"):
            return convert.epsilon(orders, steps * values, delta).epsilon <= target

    if not within(0):
        return 0
    if within(UNLIMITED):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = (target + np.log(delta) / (orders - 1.0)) / values
    steps = int(np.nanmax(quotients[orders > 1.0], initial=0.0))
    return next(near for near in range(steps + 2, steps - 3, -1) if within(near))


def smallest_noise(curve, orders, delta, target):
    """The least noise within a budget."""
    orders = check_orders(orders)
    check_delta(delta)
    proving = orders > 1.0
    budgets = target + np.log(delta) / (orders[proving] - 1.0)

    def at(place):
        """Whether the noise suffices, and the log of the factor by which the divergences might grow."""
        values = np.asarray(curve(float(np.exp(place))), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.nanmax(budgets / values[proving], initial=0.0)
            return convert.epsilon(orders, values, delta).epsilon <= target, float(np.log(factor))

    low, high = np.log(SMALLEST_NOISE), np.log(LARGEST_NOISE)
    enough, below = at(low)
    if enough:
        return SMALLEST_NOISE
    enough, above = at(high)
    if not enough:
        raise ValueError(f"no noise up to {LARGEST_NOISE} gives epsilon {target} at these orders")
    before = None
    while high - low > TOLERANCE:
        place = (low + high) / 2.0
        if above - below < NEARLY_LINEAR:
            place = low - below * (high - low) / (above - below)
            place = min(max(place, low + TOLERANCE / 2.0), high - TOLERANCE / 2.0)
        enough, factor = at(place)
        if enough:
            high, above, below = place, factor, below / 2.0 if before is enough else below
        else:
            low, below, above = place, factor, above / 2.0 if before is enough else above
        before = enough
    return float(np.exp(high))


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
