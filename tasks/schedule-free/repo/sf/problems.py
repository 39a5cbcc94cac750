"""A small problem with a known gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .tree import Tree


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Half the mean squared error of `inputs @ weight + bias`; the parameters are a dict with both."""

    inputs: np.ndarray  # (n, d)
    outputs: np.ndarray  # (n,)

    def loss_and_gradient(self, params: Tree) -> tuple[float, Tree]:
        """The loss, and a tree with its gradient."""
        residual = self.inputs @ params["weight"] + params["bias"] - self.outputs
        gradient = {"weight": self.inputs.T @ residual / len(residual), "bias": np.mean(residual)}
        return float(0.5 * np.mean(residual**2)), gradient


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
