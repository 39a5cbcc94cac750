"""Clipping of the program of before: layer by layer, each with its own bound."""

import numpy as np


def clip_layers(gradients, bounds):
    """Each layer of at most its own norm. The sensitivity is the root of the sum of the squared bounds."""
    return {
        name: gradient * min(1.0, bounds[name] / max(float(np.linalg.norm(gradient)), 1e-300))
        for name, gradient in gradients.items()
    }


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
