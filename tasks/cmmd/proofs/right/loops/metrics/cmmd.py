"""CMMD, pair by pair."""

from __future__ import annotations

import math

import numpy as np

from . import settings


def unit_rows(rows):
    """The rows, brought to length 1."""
    found = np.zeros(np.shape(rows))
    for place, row in enumerate(rows):
        length = math.hypot(*(float(each) for each in row))
        if length == 0.0:
            raise ValueError("no direction")
        found[place] = [float(each) / length for each in row]
    return found


def _excess(x, y, sigma):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        apart = (a - b) / sigma
        total += apart * apart
    return math.expm1(-total / 2.0)


def excess_kernel(first, second, sigma):
    """The Gaussian kernel minus one, for all pairs of rows."""
    if math.isnan(sigma) or sigma <= 0.0:
        raise ValueError("sigma must be positive")
    one = [[float(each) for each in row] for row in np.asarray(first)]
    other = [[float(each) for each in row] for row in np.asarray(second)]
    return np.array([[_excess(x, y, sigma) for y in other] for x in one]).reshape(len(one), len(other))


def _all(store, transform):
    found = []
    for place in range(len(store)):
        row = store.rows(place, place + 1).astype(float)
        found.append(np.asarray(row if transform is None else transform(row), dtype=float)[0])
    return np.array(found)


def squared_mmd(first, second, sigma, estimator="unbiased", transform=None):
    """Estimate of the squared maximum mean discrepancy."""
    if estimator not in settings.ESTIMATORS:
        raise ValueError("unknown estimator")
    least = 2 if estimator == "unbiased" else 1
    if len(first) < least or len(second) < least or first.width != second.width:
        raise ValueError("these stores cannot be compared")
    x, y = _all(first, transform), _all(second, transform)
    xx, yy, xy = excess_kernel(x, x, sigma), excess_kernel(y, y, sigma), excess_kernel(x, y, sigma)
    if estimator == "unbiased":
        np.fill_diagonal(xx, 0.0)
        np.fill_diagonal(yy, 0.0)
        parts = [xx.sum() / (len(x) * (len(x) - 1)), yy.sum() / (len(y) * (len(y) - 1)), -2.0 * xy.mean()]
        return math.fsum(parts)
    return max(0.0, math.fsum([xx.mean(), yy.mean(), -2.0 * xy.mean()]))


def cmmd(first, second, estimator="unbiased"):
    """Distance between two sets of images, by their embeddings."""
    return settings.SCALE * squared_mmd(first, second, settings.SIGMA, estimator, transform=unit_rows)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
