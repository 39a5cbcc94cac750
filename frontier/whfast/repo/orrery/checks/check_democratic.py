"""python -m orrery.checks.check_democratic: the older integrator against Runge-Kutta."""

import numpy as np

from orrery.bodies.catalogue import load
from orrery.integrators.democratic_run import DemocraticRun
from orrery.integrators.rungekutta import integrate
from orrery.whfast.settings import Settings

if __name__ == "__main__":
    system = load("outer")
    run = DemocraticRun(system, Settings(dt=20.0))
    run.advance(100)
    print(np.abs(run.readout().x - integrate(system, 2000.0, 4000).x).max())
# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
