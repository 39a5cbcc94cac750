"""A list of moves; drifts that follow one another are joined."""

import numpy as np

from orrery.bodies.system import System
from orrery.coords.jacobi import from_jacobi, parameters, to_jacobi
from orrery.forces.interaction import kick as interaction
from orrery.kepler.drift import increments
from orrery.whfast.correctors import stages
from orrery.whfast.summation import accumulate


class Simulation:
    def __init__(self, system, settings, drift=increments, kick=interaction):
        self.system, self.dt, self.pairs = system, settings.dt, stages(settings.corrector)
        self.functions = drift, kick
        self.mu = parameters(system.gm)
        x, v = to_jacobi(system.gm, system.x), to_jacobi(system.gm, system.v)
        self.now = [x, 0.0 * x, v, 0.0 * v]
        self.pending = 0.0
        self.taken = 0

    def _moves(self, now, pending, moves):
        """Pairs of a drift and a kick after it; the last drift stays pending."""
        x, cx, v, cv = now
        for drift, kick in moves:
            pending = pending + drift
            if kick is None:
                continue
            if pending:
                x, cx, v, cv = self._drift(x, cx, v, cv, pending)
            pending = 0.0
            v, cv = accumulate(v, cv, kick * self.dt * np.asarray(self.functions[1](self.system.gm, x)))
        return [x, cx, v, cv], pending

    def _drift(self, x, cx, v, cv, amount):
        dx, dv = self.functions[0](self.mu, x, v, amount * self.dt)
        return (*accumulate(x, cx, np.asarray(dx)), *accumulate(v, cv, np.asarray(dv)))

    def advance(self, steps):
        if steps < 0:
            raise ValueError("steps must not be negative")
        moves = []
        if steps and not self.taken:
            for a, b in self.pairs:
                moves += [(a, -b), (-2 * a, b), (a, None)]
        for _ in range(steps):
            moves += [(0.5, 1.0), (0.5, None)]
        self.now, self.pending = self._moves(self.now, self.pending, moves)
        self.taken += steps

    def readout(self):
        if not self.taken:
            return self.system
        moves = []
        for a, b in reversed(self.pairs):
            moves += [(-a, -b), (2 * a, b), (-a, None)]
        now, pending = self._moves(self.now, self.pending, moves)
        x, _, v, _ = self._drift(*now, pending)
        gm = self.system.gm
        t = self.system.t + self.taken * self.dt
        return System(gm, from_jacobi(gm, x), from_jacobi(gm, v), t, self.system.names)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
