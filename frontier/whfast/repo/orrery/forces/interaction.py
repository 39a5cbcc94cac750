"""Accelerations of Jacobi coordinates by all that is not a Kepler orbit."""


def kick(gm, x):
    """Accelerations of the Jacobi coordinates `x`."""
    raise NotImplementedError


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
