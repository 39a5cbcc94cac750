"""Vectors of secular theory."""

import math

from .record import Elements


def eccentricity_vector(orbit: Elements) -> tuple[float, float]:
    """(h, k) by the longitude of the pericentre."""
    longitude = orbit.node + orbit.peri
    return orbit.e * math.sin(longitude), orbit.e * math.cos(longitude)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
