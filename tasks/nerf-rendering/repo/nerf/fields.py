"""Radiance fields: what is asked for color and density at a point, seen from a direction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Field = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""`(points (R, N, 3), viewing (R, 3)) -> (colors (R, N, 3) in [0, 1], densities (R, N))`.

Viewing directions have unit length. Densities are raw: a network may give negative ones, which count as 0.
"""


class Blobs:
    """A field of soft balls, in place of a trained network.

    centres `(B, 3)`, radii `(B,)`, densities `(B,)` at the centres, colors `(B, 3)`. The density falls off as a
    Gaussian, less a small constant so that it is negative in empty space; the color fades where the surface is seen
    from below.
    """

    def __init__(self, centres: np.ndarray, radii: np.ndarray, densities: np.ndarray, colors: np.ndarray) -> None:
        self.centres = np.asarray(centres, dtype=np.float64)
        self.radii = np.asarray(radii, dtype=np.float64)
        self.densities = np.asarray(densities, dtype=np.float64)
        self.colors = np.asarray(colors, dtype=np.float64)

    def __call__(self, points: np.ndarray, viewing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        offsets = points[:, :, None, :] - self.centres
        shares = np.exp(-0.5 * (offsets**2).sum(axis=-1) / self.radii**2)
        densities = shares @ self.densities - 0.01
        shade = 0.75 - 0.25 * viewing[:, None, 1:2]
        colors = shade * (shares @ self.colors) / (shares.sum(axis=-1, keepdims=True) + 1e-12)
        return colors, densities


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
