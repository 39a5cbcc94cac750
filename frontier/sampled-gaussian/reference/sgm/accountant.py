"""Composition, and the best of all orders."""

import numpy as np
from sgm import convert
from sgm.checks import check_orders
from sgm.ledger.events import Event
from sgm.limits import HIGHEST_ORDER, LOWEST_ORDER
from sgm.mechanisms.registry import one_access

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def from_moments(event):
    """The event whose table has divergences by order instead of log moments by lambda."""
    curve = tuple((place + 1.0, value / place) for place, value in event.curve)
    return Event(kind="tabulated", count=event.count, curve=curve)


def compose(events, orders, kernel):
    """Divergence of a whole ledger, for each order."""
    orders = check_orders(orders)
    total, counts = np.zeros(orders.shape), {}
    for event in events:
        if event.count == 0:
            continue
        if event.kind == "sampled-gaussian":
            pair = event.rate, event.noise / event.clip
            counts[pair] = counts.get(pair, 0) + event.count
        else:
            event = from_moments(event) if event.kind == "moments" else event
            total = total + event.count * one_access(event, orders)
    for (rate, sigma), count in counts.items():
        total = total + count * kernel(rate, sigma, orders)
    return total


def best_order(curve, delta):
    """The least epsilon over all real orders."""
    seen = []

    def at(place):
        orders = np.array([1.0 + np.exp(place)])
        guarantee = convert.epsilon(orders, curve(orders), delta)
        seen.append(guarantee)
        return guarantee.epsilon

    low, high = np.log(LOWEST_ORDER - 1.0), np.log(HIGHEST_ORDER - 1.0)
    at(high)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = at(left), at(right)
    while high - low > 1e-7:
        if at_left < at_right or not np.isfinite(at_right):
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = at(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = at(right)
    return min(seen, key=lambda guarantee: guarantee.epsilon)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
