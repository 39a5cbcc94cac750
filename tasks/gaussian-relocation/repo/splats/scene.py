"""A scene: the parameters of N Gaussians, as they are trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .activations import sigmoid


@dataclass(frozen=True, eq=False)
class Scene:
    """Parameters of N Gaussians, copied to float64 when a scene is made.

    positions: `(N, 3)`, the centres.
    logits: `(N,)`, inverse sigmoids of the opacities.
    log_scales: `(N, 3)`, logarithms of the standard deviations along the three axes of each Gaussian.
    quaternions: `(N, 4)`, orientations (w, x, y, z), of any positive length.
    """

    positions: np.ndarray
    logits: np.ndarray
    log_scales: np.ndarray
    quaternions: np.ndarray

    def __post_init__(self) -> None:
        for name, shape in (
            ("positions", (-1, 3)),
            ("logits", (-1,)),
            ("log_scales", (-1, 3)),
            ("quaternions", (-1, 4)),
        ):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64).reshape(shape))
        if not len(self.positions) == len(self.logits) == len(self.log_scales) == len(self.quaternions):
            raise ValueError("the parameters are of different numbers of Gaussians")

    def opacities(self) -> np.ndarray:
        """Opacities, `(N,)`."""
        return sigmoid(self.logits)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
