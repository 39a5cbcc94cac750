"""The classical Runge-Kutta method, with many small steps: for comparisons over short times."""

import numpy as np

from orrery.bodies.system import System
from orrery.forces.newton import newton


def integrate(system: System, time: float, steps: int) -> System:
    """The system after `time` days."""
    h = time / steps
    y = np.stack([system.x, system.v])

    def slope(y):
        return np.stack([y[1], newton(system.gm, y[0])])

    for _ in range(steps):
        first = slope(y)
        second = slope(y + 0.5 * h * first)
        third = slope(y + 0.5 * h * second)
        y = y + h / 6.0 * (first + 2.0 * second + 2.0 * third + slope(y + h * third))
    return System(gm=system.gm, x=y[0], v=y[1], t=system.t + time, names=system.names)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
