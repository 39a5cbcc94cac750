"""Jacobi coordinates."""


def parameters(gm):
    """Gravitational parameter of the Kepler orbit of each row."""
    raise NotImplementedError


def to_jacobi(gm, y):
    """Rows of Jacobi coordinates."""
    raise NotImplementedError


def from_jacobi(gm, y):
    """The inverse of `to_jacobi`."""
    raise NotImplementedError


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
