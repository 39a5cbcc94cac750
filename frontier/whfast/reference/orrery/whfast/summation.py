"""Sums that remember what rounding loses."""


def accumulate(total, carry, increment):
    """The new total and carry; `total - carry` is the sum."""
    first = total + increment
    part = first - total
    lost = (total - (first - part)) + (increment - part)
    rest = lost - carry
    new = first + rest
    part = new - first
    return new, -((first - (new - part)) + (rest - part))


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
