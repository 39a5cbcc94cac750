"""Composition by groups, and a search that narrows a grid."""

from dataclasses import replace

import numpy as np
from sgm.checks import check_delta, check_orders
from sgm.limits import HIGHEST_ORDER, LOWEST_ORDER
from sgm.mechanisms.registry import one_access
from sgm.results import Guarantee


def compose(events, orders, kernel):
    orders = check_orders(orders)
    events = [event for event in events if event.count]
    total = np.zeros_like(orders)
    pairs = {(event.rate, event.noise / event.clip) for event in events if event.kind == "sampled-gaussian"}
    for rate, sigma in sorted(pairs):
        count = sum(
            event.count
            for event in events
            if event.kind == "sampled-gaussian" and (event.rate, event.noise / event.clip) == (rate, sigma)
        )
        total += count * np.array(kernel(rate, sigma, orders))
    for event in events:
        if event.kind == "moments":
            table = tuple((lam + 1, moment / lam) for lam, moment in event.curve)
            total += event.count * one_access(replace(event, kind="tabulated", curve=table), orders)
        elif event.kind != "sampled-gaussian":
            total += event.count * one_access(event, orders)
    return total


def best_order(curve, delta):
    check_delta(delta)
    low, high = np.log(LOWEST_ORDER - 1.0), np.log(HIGHEST_ORDER - 1.0)

    def totals(places):
        orders = np.clip(1.0 + np.exp(places), LOWEST_ORDER, HIGHEST_ORDER)
        values = np.asarray(curve(orders)) - np.log(delta) / (orders - 1.0)
        return [(float(value), float(order)) for value, order in zip(values, orders, strict=True)]

    for _ in range(8):
        places = np.linspace(low, high, 7)
        tried = totals(places)
        place = tried.index(min(tried))
        low, high = places[max(place - 1, 0)], places[min(place + 1, 6)]
    best, (left, middle, right) = (
        tried[place],
        (tried[min(max(place + shift, 1 + shift), 5 + shift)][0] for shift in (-1, 0, 1)),
    )
    if np.isfinite(left + middle + right) and left - 2.0 * middle + right > 0.0:
        centre = places[min(max(place, 1), 5)]
        vertex = centre + (places[1] - places[0]) * 0.5 * (left - right) / (left - 2.0 * middle + right)
        best = min(best, *totals(np.array([vertex])))
    return Guarantee(best[0], delta, best[1] if np.isfinite(best[0]) else None)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
