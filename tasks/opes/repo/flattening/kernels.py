"""What is kept of the past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Kernels:
    """K Gaussians.

    centers: (K, d). widths: (K, d), standard deviations. heights: (K,), the values at the centres.
    """

    centers: np.ndarray
    widths: np.ndarray
    heights: np.ndarray

    def __post_init__(self) -> None:
        for name in ("centers", "widths", "heights"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))
        if (
            self.centers.ndim != 2
            or self.widths.shape != self.centers.shape
            or self.heights.shape != self.centers.shape[:1]
        ):
            raise ValueError("centers and widths must be (K, d), and heights (K,)")

    @classmethod
    def none(cls, variables: int) -> Kernels:
        """No kernels."""
        return cls(np.zeros((0, variables)), np.zeros((0, variables)), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Estimate:
    """The kernels, the sum of all weights so far, and the sum of their squares."""

    kernels: Kernels
    weight: float = 0.0
    square: float = 0.0


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
