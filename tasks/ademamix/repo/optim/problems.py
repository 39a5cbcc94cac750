"""Losses with known gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Half the mean squared error of `inputs @ weight + bias`.

    inputs: `(N, K)` float64. targets: `(N, M)` float64. bias_from: the update from which the bias is trained.
    """

    inputs: np.ndarray
    targets: np.ndarray
    bias_from: int = 0

    def gradients(self, parameters: dict[str, np.ndarray], step: int) -> dict[str, np.ndarray | None]:
        """Gradients of the loss at update `step` (from 0); None for a parameter that is not trained yet."""
        error = (self.inputs @ parameters["weight"] + parameters["bias"] - self.targets) / len(self.inputs)
        return {"weight": self.inputs.T @ error, "bias": error.sum(axis=0) if step >= self.bias_from else None}


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
