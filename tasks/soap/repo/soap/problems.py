"""Losses with known gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Factors:
    """Half the squared error of `left @ right + bias`, summed over the elements of the target.

    targets: `(steps, N, M)` float64, the target of each update. bias_from: the update from which the bias is trained.
    """

    targets: np.ndarray
    bias_from: int = 0

    def gradients(self, parameters: dict[str, np.ndarray], step: int) -> dict[str, np.ndarray | None]:
        """Gradients of the loss at update `step` (from 0); None for a parameter that is not trained yet."""
        error = parameters["left"] @ parameters["right"] + parameters["bias"] - self.targets[step]
        return {
            "left": error @ parameters["right"].T,
            "right": parameters["left"].T @ error,
            "bias": error.sum(axis=0) if step >= self.bias_from else None,
        }


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
