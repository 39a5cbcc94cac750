"""Stored runs, repeated."""

import numpy as np

from orrery.reading.stored import runs
from orrery.whfast.scheme import Simulation
from orrery.whfast.settings import Settings

from .table import table


def report() -> str:
    """The largest difference from each stored run."""
    rows = []
    for each in runs():
        run = Simulation(each["start"], Settings(dt=each["dt"], corrector=each["corrector"]))
        run.advance(each["steps"])
        now, then = run.readout(), each["end"]
        rows.append([each["name"], f"{max(np.abs(now.x - then.x).max(), np.abs(now.v - then.v).max()):.1e}"])
    return table(["run", "difference"], rows)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
