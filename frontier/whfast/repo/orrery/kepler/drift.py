"""Motion on a Kepler orbit, as the change of position and velocity."""


def increments(mu, x, v, dt):
    """Change of positions and velocities, row by row."""
    raise NotImplementedError


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
