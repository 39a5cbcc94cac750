"""Checks of arguments."""

import numpy as np


def check_orders(orders):
    """The orders as an array of float64; ValueError unless all are finite and at least 1."""
    orders = np.asarray(orders, dtype=np.float64)
    if not np.all(np.isfinite(orders)) or np.any(orders < 1.0):
        raise ValueError("orders are finite and at least 1")
    return orders


def check_rate(rate):
    """ValueError unless 0 <= rate <= 1."""
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"a sampling rate is between 0 and 1, not {rate}")


def check_sigma(sigma):
    """ValueError unless sigma is a number that is not negative."""
    if not sigma >= 0.0:
        raise ValueError(f"a noise multiplier is at least 0, not {sigma}")


def check_delta(delta):
    """ValueError unless 0 < delta < 1."""
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta is between 0 and 1, not {delta}")


def check_positive(name, value):
    """ValueError unless value > 0."""
    if not value > 0.0:
        raise ValueError(f"{name} is positive, not {value}")


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
