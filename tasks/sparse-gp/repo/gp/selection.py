"""The choice of a model: its inducing points, and the kernel with the highest bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gp.inducing import greedy_variance
from gp.kernels import Kernel
from gp.model import SparseGP
from gp.sparse import elbo


def with_inducing_points(kernel: Kernel, x: np.ndarray, count: int, mean: float = 0.0) -> SparseGP:
    """Return a model with at most `count` of the points x (n, d), those that explain most of the prior variance."""
    return SparseGP(kernel, x[greedy_variance(x, kernel, count)], mean)


def best_model(
    kernels: Sequence[Kernel], x: np.ndarray, y: np.ndarray, noise: float | np.ndarray, count: int
) -> tuple[SparseGP, float]:
    """Return the model with the highest bound among those of all kernels, and its bound; the first one among equals.

    The prior mean is the mean of y. A bound can be compared with those of other kernels: it is never above the
    evidence, however the inducing points were chosen.
    """
    models = [with_inducing_points(kernel, x, count, float(np.mean(y))) for kernel in kernels]
    bounds = [elbo(model, x, y, noise) for model in models]
    best = int(np.argmax(bounds))
    return models[best], bounds[best]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
