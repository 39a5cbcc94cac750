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
