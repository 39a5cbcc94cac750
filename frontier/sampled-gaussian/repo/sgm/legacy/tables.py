"""Tables of the program of before."""

from decimal import ROUND_CEILING, Decimal

from sgm.legacy.moments import record, spent
from sgm.legacy.tails import epsilon


def steps_of(epochs, size, lot):
    """Steps of so many epochs; a part of a step is a step."""
    return -(-epochs * size // lot)


def printed(value):
    """Two decimals. A table never claims more privacy than there is."""
    return str(Decimal(value).quantize(Decimal("0.01"), rounding=ROUND_CEILING))


def row(size, lot, epochs, sigma, delta):
    """One entry."""
    return printed(epsilon(spent([record(lot / size, sigma, steps_of(epochs, size, lot))]), delta))


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
