"""Logistic regression."""

import numpy as np


class Logistic:
    """Two classes."""

    def fresh(self, dimension):
        """Parameters before training."""
        return {"weight": np.zeros(dimension), "bias": np.zeros(1)}

    def scores(self, parameters, features):
        """Log odds."""
        return features @ parameters["weight"] + parameters["bias"][0]

    def gradient(self, parameters, feature, label):
        """Gradient of the loss of one example."""
        slope = 1.0 / (1.0 + np.exp(-self.scores(parameters, feature))) - label
        return {"weight": slope * feature, "bias": np.array([slope])}

    def loss(self, parameters, features, labels):
        """Mean loss."""
        return float(np.mean(np.logaddexp(0.0, (1.0 - 2.0 * labels) * self.scores(parameters, features))))

    def predict(self, parameters, features):
        """Labels."""
        return (self.scores(parameters, features) > 0.0).astype(int)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
