"""The driver."""

from __future__ import annotations

import numpy as np

from .draws import Draws
from .network import Network, population
from .settings import Settings
from .tau import step
from .trajectory import Trajectory


def simulate(
    network: Network, state: np.ndarray, end: float, draws: Draws, settings: Settings | None = None
) -> Trajectory:
    """The populations from time 0 to `end`."""
    settings = settings or Settings()
    times, states, kinds = [0.0], [population(network, state)], []
    while times[-1] < end:
        remaining = end - times[-1]
        taken = step(network, states[-1], remaining, draws, settings)
        times.append(end if taken.duration >= remaining else times[-1] + taken.duration)
        states.append(taken.state)
        kinds.append(taken.kind)
    return Trajectory(np.array(times), np.array(states), tuple(kinds))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
