"""Orbital elements of a state."""

from .record import Elements


def elements(mu: float, x, v) -> Elements:
    """Elements of the orbit of a body with the state (x, v) around a centre with the parameter mu."""
    raise NotImplementedError


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
