"""Linear regression."""

import numpy as np


class Linear:
    """Real targets."""

    def fresh(self, dimension):
        """Parameters before training."""
        return {"weight": np.zeros(dimension), "bias": np.zeros(1)}

    def predict(self, parameters, features):
        """Values."""
        return features @ parameters["weight"] + parameters["bias"][0]

    def gradient(self, parameters, feature, label):
        """Gradient of half the squared error of one example."""
        error = self.predict(parameters, feature) - label
        return {"weight": error * feature, "bias": np.array([error])}

    def loss(self, parameters, features, labels):
        """Half of the mean squared error."""
        return float(0.5 * np.mean((self.predict(parameters, features) - labels) ** 2))


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
