"""Steps and noise for a given privacy."""


def largest_steps(orders, values, delta, target):
    """The largest number of steps within a budget."""
    raise NotImplementedError


def smallest_noise(curve, orders, delta, target):
    """The least noise within a budget."""
    raise NotImplementedError


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
