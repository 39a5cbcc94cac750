"""The driver: calibrate on some documents, tag others."""

from __future__ import annotations

import numpy as np

from .control import choose_lambda, false_negative_rates, monotone_losses
from .sets import members, sizes

GRID = np.linspace(0.0, 1.0, 51)


def tag(
    scores: np.ndarray, labels: np.ndarray, new_scores: np.ndarray, alpha: float, grid: np.ndarray = GRID
) -> dict[str, object]:
    """Sets for `new_scores`, calibrated on `scores` and `labels` to miss a share of at most `alpha`.

    The result has the sets (booleans of the shape of `new_scores`), their mean size, the chosen lambda with its risk, and
    the largest loss of a calibration example there.
    """
    losses = false_negative_rates(scores, labels, grid)
    choice = choose_lambda(losses, grid, alpha)
    return {
        "sets": members(new_scores, choice.value),
        "size": float(sizes(new_scores, choice.value).mean()),
        "lambda": choice.value,
        "risk": choice.risk,
        "worst": float(monotone_losses(losses)[:, choice.position].max()),
    }


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
