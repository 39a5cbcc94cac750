"""The two directions in which neighbouring data sets are compared."""

ADD = "add"
"""Outputs with the example against outputs without it: moments of mu / mu0 under mu0."""

REMOVE = "remove"
"""Outputs without the example against outputs with it: moments of mu0 / mu under mu."""

DIRECTIONS = (ADD, REMOVE)


def check_direction(direction):
    """ValueError unless the direction is one of DIRECTIONS."""
    if direction not in DIRECTIONS:
        raise ValueError(f"the direction is one of {DIRECTIONS}, not {direction!r}")


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
