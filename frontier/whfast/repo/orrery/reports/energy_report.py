"""Errors of the energy with each corrector."""

from orrery.analysis.history import energy_errors
from orrery.bodies.catalogue import load
from orrery.whfast.scheme import Simulation
from orrery.whfast.settings import Settings

from .table import table


def report(name: str, dt: float, orders=(0, 3, 5, 7, 11), every: int = 7, count: int = 20) -> str:
    """The largest error along a run, for each order."""
    system = load(name)
    rows = []
    for order in orders:
        errors = energy_errors(Simulation(system, Settings(dt=dt, corrector=order)), every, count)
        rows.append([order, f"{max(abs(each) for each in errors):.2e}"])
    return table(["corrector", "error"], rows)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
