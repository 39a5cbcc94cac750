"""Spheres of influence."""


def hill_radius(gm: float, centre: float, q: float) -> float:
    """At the pericentre."""
    return q * (gm / (3.0 * centre)) ** (1.0 / 3.0)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
