"""Systems that are built from the inside out."""

import numpy as np

from .from_elements import state
from .system import System


def chained(gm, orbits, t=0.0, names=()) -> System:
    """Each orbit is that of the next body around the centre of mass of all before it; the centre of mass of all rests at the origin."""
    x, v = [np.zeros(3)], [np.zeros(3)]
    for count, orbit in enumerate(orbits, start=1):
        inner = sum(gm[:count])
        place, motion = state(inner + gm[count], orbit)
        for rows, apart in ((x, place), (v, motion)):
            middle = sum(mass * row for mass, row in zip(gm, rows, strict=False)) / inner
            rows.append(middle + apart)
    x, v = np.array(x), np.array(v)
    weights = np.array(gm) / sum(gm)
    return System(gm=gm, x=x - weights @ x, v=v - weights @ v, t=t, names=names)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
