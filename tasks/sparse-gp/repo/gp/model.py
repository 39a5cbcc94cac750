"""What a sparse Gaussian process is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gp.kernels import Kernel


@dataclass(frozen=True)
class SparseGP:
    """A Gaussian process with a constant mean, seen through `inducing` points of shape (m, d)."""

    kernel: Kernel
    inducing: np.ndarray
    mean: float = 0.0


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
