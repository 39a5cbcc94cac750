"""Positions as seen from body 0."""


def to_heliocentric(y):
    """Rows of the other bodies, `(N - 1, 3)`."""
    return y[1:] - y[0]


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
