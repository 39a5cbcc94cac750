"""The driver: choose a model on one part of the data, and score its predictions of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gp.data import Training
from gp.kernels import Kernel
from gp.model import SparseGP
from gp.scores import Scores, score
from gp.selection import best_model
from gp.sparse import predict


@dataclass(frozen=True)
class Outcome:
    """The model that was chosen, its bound on the training data, and its scores on the data that were held out."""

    model: SparseGP
    bound: float
    scores: Scores


def run(
    x: np.ndarray,
    y: np.ndarray,
    noise: float | np.ndarray,
    kernels: Sequence[Kernel],
    count: int,
    held_out: int,
    seed: int,
) -> Outcome:
    """Hold out `held_out` random points of the data, of which at least one must remain for the training."""
    data = Training.of(x, y, noise)
    if not 1 <= held_out < len(data.x):
        raise ValueError(f"cannot hold out {held_out} of {len(data.x)} points")
    order = np.random.default_rng(seed).permutation(len(data.x))
    test, train = order[:held_out], order[held_out:]
    given = (data.x[train], data.y[train], data.noise[train])
    model, bound = best_model(kernels, *given, count)
    mean, variance = predict(model, *given, data.x[test])
    return Outcome(model=model, bound=bound, scores=score(data.y[test], mean, variance, data.noise[test]))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
