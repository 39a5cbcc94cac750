"""Stored orbits."""

import numpy as np

from orrery.orbits.record import Elements

from .files import read


def orbits() -> list[tuple[float, np.ndarray, np.ndarray, Elements]]:
    """Parameter, place, motion and elements."""
    return [
        (each["mu"], np.array(each["x"]), np.array(each["v"]), Elements(**each["elements"]))
        for each in read("orbits")["orbits"]
    ]


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
