"""The record of an orbit."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Elements:
    """Pericentre distance (AU), eccentricity, inclination, node, argument of the pericentre (radians), time since the pericentre (days)."""

    q: float
    e: float
    inc: float
    node: float
    peri: float
    since: float


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
