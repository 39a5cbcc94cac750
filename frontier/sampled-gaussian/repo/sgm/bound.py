"""The closed form of the paper, and where it holds."""


def curve(rate, sigma, orders):
    """The closed form for each order, inf where it does not hold."""
    raise NotImplementedError


def largest_order(rate, sigma):
    """The largest order at which the closed form holds."""
    raise NotImplementedError


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
