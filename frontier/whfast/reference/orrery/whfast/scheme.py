"""The integrator: drifts on Kepler orbits and kicks by the interaction, with the last half drift of a step left open."""

import numpy as np
from orrery.bodies.system import System
from orrery.coords.jacobi import from_jacobi, parameters, to_jacobi
from orrery.forces.interaction import kick as interaction
from orrery.kepler.drift import increments

from .correctors import stages
from .settings import Settings
from .summation import accumulate


class Simulation:
    """Advances a system by steps of `settings.dt`."""

    def __init__(self, system: System, settings: Settings, drift=increments, kick=interaction):
        self._start, self._dt, self._stages = system, settings.dt, stages(settings.corrector)
        self._drift, self._kick, self._mu = drift, kick, parameters(system.gm)
        self._steps = 0
        x, v = to_jacobi(system.gm, system.x), to_jacobi(system.gm, system.v)
        self._state = (x, np.zeros_like(x), v, np.zeros_like(v))

    def _drifted(self, state, factor):
        x, lost_x, v, lost_v = state
        dx, dv = self._drift(self._mu, x, v, factor * self._dt)
        return *accumulate(x, lost_x, dx), *accumulate(v, lost_v, dv)

    def _kicked(self, state, factor):
        x, lost_x, v, lost_v = state
        return x, lost_x, *accumulate(v, lost_v, factor * self._dt * self._kick(self._start.gm, x))

    def _corrected(self, state, pairs, sign):
        for a, b in pairs:
            for drift, kick in ((sign * a, -b), (-2.0 * sign * a, b)):
                state = self._kicked(self._drifted(state, drift), kick)
            state = self._drifted(state, sign * a)
        return state

    def advance(self, steps: int) -> None:
        """Take steps."""
        if steps < 0:
            raise ValueError(f"cannot take {steps} steps; for the past, use a negative dt")
        for _ in range(steps):
            if self._steps == 0:
                self._state = self._corrected(self._state, self._stages, 1.0)
            self._state = self._kicked(self._drifted(self._state, 1.0 if self._steps else 0.5), 1.0)
            self._steps += 1

    def readout(self) -> System:
        """The system now. The run goes on as if nobody had looked."""
        start = self._start
        if self._steps == 0:
            return start
        x, _, v, _ = self._corrected(self._drifted(self._state, 0.5), self._stages[::-1], -1.0)
        return System(
            gm=start.gm,
            x=from_jacobi(start.gm, x),
            v=from_jacobi(start.gm, v),
            t=start.t + self._steps * self._dt,
            names=start.names,
        )


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
