"""The integrator."""

from orrery.bodies.system import System
from orrery.forces.interaction import kick as interaction
from orrery.kepler.drift import increments

from .settings import Settings


class Simulation:
    """Advances a system by steps of `settings.dt`."""

    def __init__(self, system: System, settings: Settings, drift=increments, kick=interaction):
        raise NotImplementedError

    def advance(self, steps: int) -> None:
        """Take steps."""
        raise NotImplementedError

    def readout(self) -> System:
        """The system now."""
        raise NotImplementedError


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
