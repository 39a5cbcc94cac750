"""Two copies of the state: the run, and what is read."""

import copy

import numpy as np

import orrery.coords.jacobi as jacobi
from orrery.bodies.system import System
from orrery.forces.interaction import kick as interaction
from orrery.kepler.drift import increments
from orrery.whfast.correctors import stages
from orrery.whfast.summation import accumulate


class _Flow:
    def __init__(self, gm, dt, drift, kick, x, v):
        self.gm, self.dt, self.d, self.k = gm, dt, drift, kick
        self.mu = jacobi.parameters(gm)
        self.x, self.v = jacobi.to_jacobi(gm, x), jacobi.to_jacobi(gm, v)
        self.rx, self.rv = np.zeros(self.x.shape), np.zeros(self.v.shape)

    def D(self, part):
        dx, dv = self.d(self.mu, self.x, self.v, part * self.dt)
        self.x, self.rx = accumulate(self.x, self.rx, dx)
        self.v, self.rv = accumulate(self.v, self.rv, dv)

    def K(self, part):
        self.v, self.rv = accumulate(self.v, self.rv, part * self.dt * self.k(self.gm, self.x))

    def Z(self, a, b):
        """X(a, b) X(-a, -b), the right one first."""
        self.D(a)
        self.K(-b)
        self.D(-2.0 * a)
        self.K(b)
        self.D(a)


class Simulation:
    def __init__(self, system, settings, drift=increments, kick=interaction):
        self.system, self.settings, self.n = system, settings, 0
        self.pairs = stages(settings.corrector)
        self.flow = _Flow(system.gm, settings.dt, drift, kick, system.x, system.v)

    def advance(self, steps):
        if steps < 0:
            raise ValueError("a number of steps is not negative")
        while steps:
            if self.n == 0:
                for pair in self.pairs:
                    self.flow.Z(*pair)
                self.flow.D(0.5)
            else:
                self.flow.D(1.0)
            self.flow.K(1.0)
            self.n, steps = self.n + 1, steps - 1

    def readout(self):
        s = self.system
        if self.n == 0:
            return s
        flow = copy.copy(self.flow)
        flow.D(0.5)
        for a, b in self.pairs[::-1]:
            self._inverse(flow, a, b)
        x, v = (jacobi.from_jacobi(s.gm, each) for each in (flow.x, flow.v))
        return System(s.gm, x, v, s.t + self.n * self.settings.dt, s.names)

    def _inverse(self, flow, a, b):
        for drift, kick in ((-a, -b), (2.0 * a, b), (-a, 0.0)):
            flow.D(drift)
            if kick:
                flow.K(kick)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
