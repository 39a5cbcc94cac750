"""Copies of a system with one body moved a little."""

import numpy as np

from .system import System


def clones(system: System, body: int, size: float, count: int, rng) -> list[System]:
    """`count` systems in which `body` is moved by `size` in a random direction."""
    found = []
    for _ in range(count):
        way = rng.normal(size=3)
        x = system.x.copy()
        x[body] += size * way / np.linalg.norm(way)
        found.append(System(gm=system.gm, x=x, v=system.v, t=system.t, names=system.names))
    return found


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
