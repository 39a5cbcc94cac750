"""Rays, and points on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Rays:
    """R rays: the point at depth t is `origin + t * direction`.

    origins, directions: `(R, 3)` float64; directions are *not* of unit length (a camera gives them depth 1 along
    its axis), so that a depth is not a distance.
    near, far: `(R,)` float64, the depths between which a ray is looked at.
    """

    origins: np.ndarray
    directions: np.ndarray
    near: np.ndarray
    far: np.ndarray

    def __post_init__(self) -> None:
        origins = np.asarray(self.origins, dtype=np.float64).reshape(-1, 3)
        directions = np.asarray(self.directions, dtype=np.float64).reshape(-1, 3)
        if origins.shape != directions.shape:
            raise ValueError(f"{len(origins)} origins and {len(directions)} directions do not match")
        object.__setattr__(self, "origins", origins)
        object.__setattr__(self, "directions", directions)
        for name in ("near", "far"):
            value = np.broadcast_to(np.asarray(getattr(self, name), dtype=np.float64), (len(origins),))
            object.__setattr__(self, name, value)

    @property
    def count(self) -> int:
        """R."""
        return len(self.origins)

    @property
    def viewing(self) -> np.ndarray:
        """`(R, 3)` directions of unit length: what a field is asked with."""
        return self.directions / np.linalg.norm(self.directions, axis=1, keepdims=True)

    def at(self, depths: np.ndarray) -> np.ndarray:
        """`(R, N, 3)` points at the `(R, N)` depths."""
        return self.origins[:, None, :] + depths[:, :, None] * self.directions[:, None, :]

    def part(self, start: int, stop: int) -> Rays:
        """The rays from `start` to `stop`, as a slice takes them."""
        cut = slice(start, stop)
        return Rays(self.origins[cut], self.directions[cut], self.near[cut], self.far[cut])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
