"""A system of bodies at one time."""

from dataclasses import dataclass

import numpy as np

from orrery.arrays import rows, vector


@dataclass(frozen=True, eq=False)
class System:
    """Gravitational parameters `(N,)`, positions and velocities `(N, 3)` in an inertial frame; body 0 is the heaviest."""

    gm: np.ndarray
    x: np.ndarray
    v: np.ndarray
    t: float = 0.0
    names: tuple = ()

    def __post_init__(self):
        object.__setattr__(self, "gm", vector(self.gm))
        for name in ("x", "v"):
            object.__setattr__(self, name, rows(getattr(self, name), len(self.gm)))
        if len(self.gm) < 2 or not self.gm[0] > 0.0 or np.any(self.gm < 0.0):
            raise ValueError("a system has a body with a mass and at least one more, and no mass is negative")
        object.__setattr__(self, "names", tuple(self.names) or tuple(f"body {each}" for each in range(len(self.gm))))


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
