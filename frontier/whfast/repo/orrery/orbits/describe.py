"""An orbit in words."""

import math

from .limits import CIRCULAR, FLAT
from .periods import period
from .record import Elements


def describe(mu: float, orbit: Elements) -> str:
    """One line for reports."""
    parts = [f"q = {orbit.q:.6f} AU", f"e = {orbit.e:.6f}", f"inclination {math.degrees(orbit.inc):.4f}"]
    if math.sin(orbit.inc) < FLAT:
        # node is 0 then: what follows counts from the x axis, in the direction of the motion
        parts.append("counted from the x axis")
    else:
        parts.append(f"node {math.degrees(orbit.node):.4f}")
    if orbit.e < CIRCULAR:
        # peri is 0 then: since counts from the node, or from the x axis if there is none
        parts.append(f"{orbit.since:.4f} days since the node")
    else:
        parts.append(f"pericentre at {math.degrees(orbit.peri):.4f}, {orbit.since:.4f} days ago")
    if orbit.e < 1.0:
        # since is the shortest way to the pericentre and never longer than half of this
        parts.append(f"period {period(mu, orbit):.4f} days")
    return ", ".join(parts)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
