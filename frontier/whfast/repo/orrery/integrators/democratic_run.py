"""Wisdom and Holman's map in democratic heliocentric coordinates (Duncan, Levison and Lee 1998)."""

import numpy as np

from orrery.bodies.system import System
from orrery.coords.democratic import from_democratic, to_democratic
from orrery.forces.indirect import mutual
from orrery.kepler.classic import classic
from orrery.whfast.settings import Settings

from .lost import kahan


class DemocraticRun:
    """Drift, jump and kick, jump, drift. The last half drift of a step waits for the first of the next one."""

    def __init__(self, system: System, settings: Settings, drift=classic, kick=mutual):
        if settings.corrector:
            raise ValueError("no corrector is known for this splitting")
        self._system, self._dt, self._drift, self._kick = system, settings.dt, drift, kick
        self._mu = np.append(np.full(len(system.gm) - 1, system.gm[0]), 0.0)
        self._x, self._v = to_democratic(system.gm, system.x, system.v)
        self._lost = [np.zeros_like(self._x), np.zeros_like(self._v)]
        self._steps = 0

    def _jump(self, dt):
        momentum = self._system.gm[1:] @ self._v[:-1] / self._system.gm[0]
        shift = np.vstack([np.tile(momentum, (len(self._x) - 1, 1)), np.zeros(3)])
        self._x, self._lost[0] = kahan(self._x, self._lost[0], dt * shift)

    def advance(self, steps: int) -> None:
        """Take steps."""
        for _ in range(steps):
            dx, dv = self._drift(self._mu, self._x, self._v, self._dt if self._steps else 0.5 * self._dt)
            self._x, self._lost[0] = kahan(self._x, self._lost[0], dx)
            self._v, self._lost[1] = kahan(self._v, self._lost[1], dv)
            self._jump(0.5 * self._dt)
            kicked = self._dt * self._kick(self._system.gm, self._x)
            self._v, self._lost[1] = kahan(self._v, self._lost[1], kicked)
            self._jump(0.5 * self._dt)
            self._steps += 1

    def readout(self) -> System:
        """The system now. The run itself is left as it was."""
        if not self._steps:
            return self._system
        dx, dv = self._drift(self._mu, self._x, self._v, 0.5 * self._dt)
        x, v = from_democratic(self._system.gm, self._x + dx, self._v + dv)
        t = self._system.t + self._steps * self._dt
        return System(gm=self._system.gm, x=x, v=v, t=t, names=self._system.names)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
