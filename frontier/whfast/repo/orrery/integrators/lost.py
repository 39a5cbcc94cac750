"""Kahan's summation, as the older integrators use it."""


def kahan(total, carry, increment):
    """The new total, and what it has too much: the better value is total - carry."""
    wanted = increment - carry
    new = total + wanted
    return new, (new - total) - wanted


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
