"""The derivative of the motion on a Kepler orbit."""


def tangent(mu, x, v, dt, dx, dv):
    """How small changes of the start change the end of a Kepler arc, row by row."""
    raise NotImplementedError


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
