"""Leapfrog in inertial coordinates (drift, kick, drift)."""

import numpy as np

from orrery.bodies.system import System
from orrery.forces.newton import newton
from orrery.whfast.settings import Settings

from .lost import kahan


class LeapfrogRun:
    """Like the other integrators, it keeps the last half drift for the next step, and does it for a readout on a copy only."""

    def __init__(self, system: System, settings: Settings, force=newton):
        if settings.corrector:
            raise ValueError("correctors are for splittings with a small part")
        self._system, self._dt, self._force = system, settings.dt, force
        self._x, self._v = system.x, system.v
        self._lost = (np.zeros_like(system.x), np.zeros_like(system.v))
        self._steps = 0

    def advance(self, steps: int) -> None:
        """Take steps."""
        lost_x, lost_v = self._lost
        for _ in range(steps):
            part = self._dt if self._steps else 0.5 * self._dt
            self._x, lost_x = kahan(self._x, lost_x, part * self._v)
            self._v, lost_v = kahan(self._v, lost_v, self._dt * self._force(self._system.gm, self._x))
            self._steps += 1
        self._lost = (lost_x, lost_v)

    def readout(self) -> System:
        """The system now; times are multiples of the step, and not sums of steps."""
        half = 0.5 * self._dt if self._steps else 0.0
        return System(
            gm=self._system.gm,
            x=self._x + half * self._v,
            v=self._v,
            t=self._system.t + self._steps * self._dt,
            names=self._system.names,
        )


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
