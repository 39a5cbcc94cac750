"""Training until the budget is spent."""

from sgm import calibrate, divergence


def affordable(settings, orders, delta, target, most):
    """Steps that a budget pays for, and not more than `most`."""
    values = divergence.divergence(settings.rate, settings.noise, orders)
    steps = calibrate.largest_steps(orders, values, delta, target)
    return most if steps is None else min(most, steps)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
