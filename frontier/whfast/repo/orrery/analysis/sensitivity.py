"""How an error of a state grows on a Kepler orbit."""

import numpy as np

from orrery.kepler.tangent import tangent


def growth(mu: float, x, v, dt: float) -> np.ndarray:
    """The matrix `(6, 6)` of derivatives of the end by the start; columns are places, then velocities."""
    unit = np.eye(6)
    count = len(unit)
    many = np.tile(x, (count, 1)), np.tile(v, (count, 1))
    places, motions = tangent(np.full(count, mu), *many, dt, unit[:, :3], unit[:, 3:])
    return np.hstack([places, motions]).T


def covariance(mu: float, x, v, dt: float, start: np.ndarray) -> np.ndarray:
    """Covariance at the end, of a covariance `(6, 6)` at the start."""
    matrix = growth(mu, x, v, dt)
    return matrix @ start @ matrix.T


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
