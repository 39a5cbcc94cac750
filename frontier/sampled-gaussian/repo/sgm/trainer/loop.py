"""The loop of a private training."""

import numpy as np

from sgm import training
from sgm.ledger.history import History


def fit(model, features, labels, settings, steps, seed):
    """Parameters after the last step, and the history of what they cost."""
    rng, history = np.random.default_rng(seed), History()
    parameters = model.fresh(features.shape[1])

    def gradient_of(current, index):
        return model.gradient(current, features[index], labels[index])

    for _ in range(steps):
        parameters, event = training.step(parameters, gradient_of, settings, rng)
        history.add(event)
    return parameters, history


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
