"""Measures of a trained model."""

import numpy as np


def accuracy(model, parameters, features, labels):
    """Share of right labels."""
    return float(np.mean(model.predict(parameters, features) == labels))


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
