"""Integrators by name."""

from orrery.whfast.scheme import Simulation

from .democratic_run import DemocraticRun
from .leapfrog import LeapfrogRun

INTEGRATORS = {"whfast": Simulation, "democratic": DemocraticRun, "leapfrog": LeapfrogRun}


def start(name, system, settings):
    """A run of the named integrator."""
    if name not in INTEGRATORS:
        raise ValueError(f"no integrator {name!r}; choose one of {sorted(INTEGRATORS)}")
    return INTEGRATORS[name](system, settings)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
