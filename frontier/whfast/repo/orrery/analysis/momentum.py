"""Momenta, times the gravitational constant."""

import numpy as np

from orrery.bodies.system import System


def linear(system: System) -> np.ndarray:
    """Of all bodies."""
    return system.gm @ system.v


def angular(system: System) -> np.ndarray:
    """About the origin."""
    return system.gm @ np.cross(system.x, system.v)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
