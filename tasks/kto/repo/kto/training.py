"""The driver: one evaluation of the objective on a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .batches import pad
from .objective import balanced_weights, completion_logps, kto_loss, reference_point

Model = Callable[[np.ndarray], np.ndarray]


def evaluate(
    prompts: Sequence[np.ndarray],
    completions: Sequence[np.ndarray],
    desirable: np.ndarray,
    policy: Model,
    reference: Model,
    beta: float = 0.1,
) -> dict[str, float]:
    """Loss, reference point and mean rewards of both kinds of examples, with balanced weights."""
    tokens, mask = pad(prompts, completions)
    desirable = np.asarray(desirable, dtype=bool)
    weights = balanced_weights(desirable)
    z0 = reference_point(prompts, completions, policy, reference)
    logps = [completion_logps(model(tokens), tokens, mask) for model in (policy, reference)]
    found = kto_loss(*logps, desirable, z0, beta=beta, desirable_weight=weights[0], undesirable_weight=weights[1])
    return {
        "loss": found.mean,
        "z0": z0,
        "desirable reward": float(found.rewards[desirable].mean()),
        "undesirable reward": float(found.rewards[~desirable].mean()),
        "gradient": float(np.abs(found.gradients).sum()),
    }


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
